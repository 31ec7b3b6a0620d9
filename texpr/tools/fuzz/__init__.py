"""`python -m texpr fuzz`: texts nobody would write, read and run in child processes, looking for anything but an answer or a `tx.Error`.

`texts` and `programs` make text number k of a seed: random bytes, token soup, real operators with tokens exchanged, and programs that
mostly mean something. `trial` reads, prints, compiles and runs one text and says what went wrong. `shrink` cuts a text down while the
same thing still goes wrong. `command` drives it all and writes a folder of findings.
"""

from texpr.tools.fuzz.command import add_arguments, fuzz

__all__ = ["add_arguments", "fuzz"]
