"""Training on several ranks: buckets of gradients, states that change alike, what ranks agree on."""
