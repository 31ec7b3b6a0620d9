"""Schedules as text and JSON, and suggestions of steps."""
