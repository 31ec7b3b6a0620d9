"""Last choices for CPUs: prefetches, pairs of rows, loops over triangles, stores in turn with
the functions of the next row.
"""
