"""Graphs of NNEF 1.0 and operators of NNEF 2.0 as text: grammars for Lark, and trees that know their
places.
"""
