#!/usr/bin/env bash
# NumPy 2.4.6: a boolean mask may have an extent of 0 where the array has any other. The user guide says that a mask
# has the extents of the axes that it stands for; a mask of 1 element on an axis of 3 is refused with an IndexError, a
# mask of none chooses nothing.
#
# Seen: np.arange(3)[np.zeros(0, bool)] has shape (0,), np.ones((2, 3))[np.zeros((2, 0), bool)] too.
# texpr does the same (graph/arrays/array_functions.py). Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6
"$folder/env/bin/python" - <<'PYTHON'
import sys

import numpy as np


def chosen(extents, mask):
    try:
        return np.ones(extents)[np.zeros(mask, bool)].shape
    except IndexError:
        return "IndexError"


rows = {((3,), (0,)): (0,), ((3,), (1,)): "IndexError", ((2, 3), (2, 0)): (0,), ((2, 3), (1, 0)): "IndexError"}
for (extents, mask), _ in rows.items():
    print(f"array {extents}, mask {mask}: {chosen(extents, mask)}")
sys.exit(0 if all(chosen(*key) == value for key, value in rows.items()) else 1)
PYTHON
