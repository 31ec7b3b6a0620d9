"""Benchmarks: programs that measure texpr beside other ways to compute the same thing. Outside
the package, users of its public API.
"""
