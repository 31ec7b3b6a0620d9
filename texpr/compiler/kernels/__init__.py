"""Compiled kernels: certified loops, and their code for this process, for devices and for C."""
