"""x86 and ARM: vectors, tile registers, dot products."""
