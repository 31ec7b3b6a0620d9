"""Steps that move computations: compute_at, inline, pipeline, and others."""
