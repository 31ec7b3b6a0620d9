"""Steps that change loops: split, fuse, reorder, vectorize, and others."""
