"""Operators inside other frameworks, each of which has a folder.

What a framework asks of an operator before it runs it, such as the shapes of its results, stands in
`derived`, derivatives as programs in `derivative_programs`.
"""
