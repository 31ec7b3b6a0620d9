"""Operators inside other frameworks. What a framework asks of an operator before it runs it, such
as the shapes of its results, stands in `derived`, derivatives as programs in
`derivative_programs`; each framework has a folder.
"""
