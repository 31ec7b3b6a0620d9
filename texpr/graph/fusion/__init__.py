"""The choice of equations that share a kernel, horizontally and vertically, and their costs."""
