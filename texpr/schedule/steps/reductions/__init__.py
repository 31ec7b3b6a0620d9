"""Steps that split reductions or make updates private."""
