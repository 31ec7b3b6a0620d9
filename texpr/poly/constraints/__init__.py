"""Integer sets: affine forms, conditions, cases, questions to isl within a quota."""
