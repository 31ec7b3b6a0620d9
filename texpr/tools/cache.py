"""`python -m texpr cache`: what is kept on disk."""

from __future__ import annotations

import argparse

from texpr.runtime.disk_cache import shared
from texpr.support.table import aligned
from texpr.tools.arguments import Commands, add_command, add_commands


def add_parser(commands: Commands) -> None:
    """Add the command `cache`."""
    parser = add_command(commands, "cache", show, "show or clear the disk cache of compiled kernels")
    actions = add_commands(parser, required=False)
    add_command(actions, "show", show, "show where the cache is and how full (the default)")
    add_command(actions, "clear", clear, "remove the kernels; records of tuning stay")


def show(arguments: argparse.Namespace) -> int:
    """Print where the cache is, and how full."""
    store = shared()
    entries, used = store.usage()
    rows = [
        ("directory", str(store.directory)),
        ("entries", str(entries)),
        ("size", f"{used / 2**20:.1f} of {store.limit >> 20} MiB"),
    ]
    print(aligned([*rows, ("problem", store.problem)] if store.problem else rows, "<<"))
    return 0


def clear(arguments: argparse.Namespace) -> int:
    """Remove all kernels. Records of tuning stand beside the cache, in `tuned`, and stay."""
    shared().clear()
    return show(arguments)
