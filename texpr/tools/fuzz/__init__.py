"""`python -m texpr fuzz`: texts and schedules nobody would write, tried in child processes, looking
for anything but a right answer or a reasoned `tx.Error`.

The language: `texts` and `programs` make text number k of a seed: random bytes, token soup, real
operators with tokens exchanged, and programs that mostly mean something. `trial` reads, prints,
compiles and runs one text and says what went wrong.

Schedules: `random_operators` writes operators (one in ten is the library's), `random_steps` chooses
steps for a kernel, `cases` puts both together. `schedule_trial` applies the steps and holds every
verdict against enumeration: `instances` runs a kernel over terms in place of numbers, `judge`
compares two kernels, looks for iterations that meet, and looks whether the witness of a refusal is
one. The tests draw from the same generators.

Default schedules: `defaults` has `auto()` choose the steps for operators at sizes beside tiles, and
for empty ones, for every target.

Gradients: `differentiable` writes operators with conditions, ranges and indices of data.
`gradients` differentiates them in both modes and twice, and asks of every derivative that it is
accepted when printed, equals differences, and when compiled touches nothing behind its arrays
(`tx.options(guard=)`).

Files of models: `damaged_files` changes bytes, numbers and names of small valid ones, and asks that
they are read or refused with little memory, and that no other file is opened.

`language`, `schedules`, `defaults`, `gradients` and `damaged_files` are the parts that `fuzz_command` drives;
`shrink` cuts a finding down while the same thing still goes wrong.
"""

from texpr.tools.fuzz.fuzz_command import add_parser

__all__ = ["add_parser"]
