"""Trees to programs: names, types, shapes."""
