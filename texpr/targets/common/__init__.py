"""Descriptions of targets that CPUs and GPUs share."""
