"""Analyses of schedules: memory requests, occupancy, annotations of listings."""
