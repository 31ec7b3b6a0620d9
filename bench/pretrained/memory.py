"""The process of one library: loads a model and calls it, then prints the peak of its memory.

python -m bench.pretrained.memory LIBRARY MODEL
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.pretrained.libraries import LIBRARIES

CALLS = 3


def main() -> int:
    """Print bytes."""
    library, name = sys.argv[1:]
    call = LIBRARIES[library](name)
    for _ in range(CALLS):
        call()
    print(peak())
    return 0


def peak() -> int:
    """Bytes of memory that this process has had at most. Linux counts its parent's in `getrusage`."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    sys.exit(main())
