"""The base of modules: parameters, state, initial values, summaries. No layer stands here."""
