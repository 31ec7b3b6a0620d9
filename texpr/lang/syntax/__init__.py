"""Texts to syntax trees, by Lark."""
