"""Convolutions on CPUs: direct and depthwise."""
