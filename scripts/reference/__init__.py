"""Pages of the reference that are written from the docstrings of live objects."""
