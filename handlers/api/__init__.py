"""The API: a parsed JSON body becomes a JSON body, the same on every platform."""
