"""Algebraic rewrites that a certificate accepts, one checker each, named as their steps."""
