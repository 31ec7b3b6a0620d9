"""Programs as launches of kernels, with the layouts of what they hand to each other."""
