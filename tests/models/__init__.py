"""Pretrained models of others: read, run beside ONNX Runtime, saved, exported, trained further.

They need the packages of `make models`, and are skipped without them.
"""
