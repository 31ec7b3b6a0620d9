"""Matrix products on CPUs: packed operands, register tiles, instructions."""
