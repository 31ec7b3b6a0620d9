"""Tensors as NumPy has them: operators, methods and indexing, each an operator of the language
applied to what stands for an array.
"""
