"""Pages of the reference that are written from the program: `python -m scripts.pages`."""
