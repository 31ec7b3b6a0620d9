"""Analyses that passes share: intervals, ranges, rows, cycles of equations."""
