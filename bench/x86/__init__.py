"""Classes of operators timed beside other libraries, in turns: `python -m bench.x86` or `make
bench-x86`.

`rows` says what is computed, `operators.tx` how texpr computes it, `peers` how others do. Each
library runs in a worker process, stopped while it is not its turn (`worker`, `parent`).
"""
