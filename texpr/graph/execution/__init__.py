"""Plans at run time: placement, memory, updates in place, locks."""
