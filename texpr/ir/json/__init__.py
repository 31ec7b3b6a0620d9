"""Programs and sizes as JSON."""
