"""`python -m texpr cache`: what is kept on disk."""

from __future__ import annotations

import argparse

from texpr.runtime.disk_cache import shared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `cache`."""
    parser.add_argument("action", nargs="?", choices=("show", "clear"), default="show",
                        help="show where the cache is and how full, or remove its kernels; records of tuning stay")


def cache(arguments: argparse.Namespace) -> int:
    """Show or clear the disk cache of compiled kernels. Records of tuning stand beside it, in `tuned`, and stay."""
    store = shared()
    if arguments.action == "clear":
        store.clear()
    entries, used = store.usage()
    rows = [("directory", str(store.directory)), ("entries", str(entries)), ("size", f"{used / 2**20:.1f} of {store.limit >> 20} MiB")]
    if store.problem:
        rows.append(("problem", store.problem))
    print("\n".join(f"{name:<10} {value}" for name, value in rows))
    return 0
