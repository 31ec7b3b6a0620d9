"""Tensor IR to loop IR: naive nests and orders of recurrences."""
