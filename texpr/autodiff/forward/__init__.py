"""Forward mode: tangents of programs."""
