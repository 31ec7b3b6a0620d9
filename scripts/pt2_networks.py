"""Networks of torchvision and transformers, exported by PyTorch and read by `tx.pt2.load`: a row for
each with the worst error of a result, relative to how much results differ between the two images or
texts of the batch.

Errors are against PyTorch's results in f64, beside those of PyTorch in f32. Networks of random
weights may enlarge rounding: that of inception_v3 is then 2.5e-4 in PyTorch itself.

    python scripts/pt2_networks.py --torch PYTHON [--only NAME,...] [--folder FOLDER]

PyTorch runs in an environment of its own, by `scripts/peers/pt2_torch.py`. 1 if an error is above
1e-4 and above three times PyTorch's, or a network is not read: convolutions by Winograd's method have
about twice the error of plain sums (docs/guide/rounding.md).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import texpr as tx  # noqa: E402
from tests.pt2.programs import leaves, nested_arguments  # noqa: E402

BOUND, TIMES = 1e-4, 3
"""The largest error, or how many times PyTorch's it may be."""
NAMES = (
    "resnet18 resnet50 mobilenet_v2 mobilenet_v3_small efficientnet_b0 squeezenet1_1 shufflenet_v2_x1_0 "
    "convnext_tiny inception_v3 densenet121 googlenet vgg11 alexnet swin_t vit_b_16 mnasnet1_0 "
    "regnet_y_400mf bert gpt2"
).split()


def error(path: Path) -> tuple[int, float, float]:
    """Nodes of an archive, the worst relative error of its results, and that of PyTorch's."""
    with np.load(path.with_suffix(".npz")) as data:
        arrays = dict(data)
    model = tx.pt2.load(path)
    args, kwargs, wanted = nested_arguments(arrays)
    found = list(leaves(model(*args, **kwargs)).values())
    exact = [a for n, a in arrays.items() if n.startswith("exact")]
    worst = own = 0.0
    for f, w, e in zip(found, wanted.values(), exact, strict=True):
        scale = np.abs(e - e.mean(0)).max() if e.ndim else 1.0
        worst, own = (max(x, float(np.abs(y - e).max() / scale)) for x, y in ((worst, f), (own, w)))
    return model.nodes, worst, own


def row(python: str, folder: Path, name: str) -> tuple[str, bool]:
    """A line of the table, and True if the network is right."""
    script = ROOT / "scripts" / "peers" / "pt2_torch.py"
    path = folder / f"{name}.pt2"
    if not path.with_suffix(".npz").exists():  # which is written last
        made = subprocess.run([python, script, "networks", folder, name], capture_output=True, text=True)
        if made.returncode:
            return f"{name:22} not exported: {made.stderr.strip().splitlines()[-1]}", False
    begun = time.perf_counter()
    try:
        nodes, worst, own = error(path)
    except tx.Error as refused:
        return f"{name:22} {refused}", False
    seconds = time.perf_counter() - begun
    text = (
        f"{name:22} {nodes:5} nodes  error {worst:.1e}, PyTorch's {own:.1e}  {seconds:6.1f} s with compiling"
    )
    return text, worst <= max(BOUND, TIMES * own)


def main() -> int:
    """Print the table; 1 if a network is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", required=True, help="a Python with torch, torchvision and transformers")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--folder", help="where archives are kept")
    given = parser.parse_args()
    names, good = [n for n in given.only.split(",") if n] or NAMES, 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            text, right = row(given.torch, Path(given.folder or folder), name)
            print(text, flush=True)
            good += right
    print(f"{good} of {len(names)} networks within {BOUND:g}, or {TIMES} times PyTorch's error")
    return 0 if good == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
