"""Ground floor: text with places, errors, options, tracing. Standard library only."""
