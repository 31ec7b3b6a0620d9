"""Programs, loops and expressions as text."""
