"""`python -m texpr.tools.fuzz`: the same as `python -m texpr fuzz`."""

from __future__ import annotations

import argparse
import sys

from texpr.tools.fuzz.command import add_arguments, fuzz

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m texpr.tools.fuzz", description=fuzz.__doc__)
    add_arguments(parser)
    sys.exit(fuzz(parser.parse_args()))
