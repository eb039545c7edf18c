"""The page to try a server, and the page of explanations that its parts make without one."""
