"""Functions of tensors as programs: symbolic values, variables, what is checked when values are
known.
"""
