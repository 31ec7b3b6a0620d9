"""Steps for single instructions of hardware: tensorize, prefetch, asynchronous copies and
products.
"""
