"""Graphs of NNEF 1.0 as text: a grammar for Lark, and trees that know their places."""
