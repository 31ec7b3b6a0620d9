"""The check of a step, and the refusal with a witness."""
