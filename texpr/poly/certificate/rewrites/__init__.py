"""Algebraic rewrites that a certificate accepts: a checker for each, named as its step, and the
`registry` of their laws.
"""
