"""The reference: programs and loops evaluated as they stand, in Python."""
