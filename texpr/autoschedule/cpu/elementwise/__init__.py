"""Elementwise nests on CPUs: vectors, transposes, interleaved and non-temporal stores."""
