"""Passes over loop IR."""
