"""Prints what the rows are, as JSON: name, bar, operations, bytes."""

from __future__ import annotations

import json
import sys

from bench.gpu.rows import rows

if __name__ == "__main__":
    print(json.dumps([(r.name, r.bar, r.operations, r.moved) for r in rows("--tiny" in sys.argv)]))
