"""Ways to compute the rows. A module has `columns(threads)`: names of columns, and what makes a
candidate of a row for each kind it knows.

Modules import their library inside `columns`, and NumPy at most outside: a worker runs in the
environment of its library.
"""
