"""The outside suite of the Python array API standard, run on `texpr.array_api`."""
