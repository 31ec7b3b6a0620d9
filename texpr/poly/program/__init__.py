"""Proofs about programs before there are loops: bounds, coverage, orders of recurrences."""
