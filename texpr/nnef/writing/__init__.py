"""Programs become graphs of NNEF: operators of the library by rules, all others by their equations."""
