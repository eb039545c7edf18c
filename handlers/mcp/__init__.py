"""A bundle as a server of the Model Context Protocol, so that assistants can search it."""
