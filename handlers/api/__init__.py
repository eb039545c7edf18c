"""Turn a parsed JSON body into an answer, the same on every platform."""
