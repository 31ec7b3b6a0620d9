"""Proofs about asynchronous copies, barriers and clusters."""
