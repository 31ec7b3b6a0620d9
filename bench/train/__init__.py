"""Training steps timed beside other libraries, in turns: `python -m bench.train` or `make
bench-train`.

`nets` says which networks, `steps` how each library trains them. Each library runs in a worker
process, stopped while it is not its turn.
"""
