"""Choices that CPUs and GPUs share: costs, layouts, numbers. It knows no machine."""
