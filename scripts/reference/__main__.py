"""Writes the reference of `nn`, tensors and the Python API from docstrings.

python -m scripts.reference
"""

from __future__ import annotations

from scripts.reference.write import ROOT, written

for path, text in written().items():
    (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / path).write_text(text, encoding="utf-8")
    print(path)
