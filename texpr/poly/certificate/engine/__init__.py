"""The second prover: final loops against the program, without any step. It shares only isl's
context and quota with `poly.dependence`.
"""
