"""Mutants of emitted loads and stores: changes of LLVM IR after emission that run into memory where
the kernel does not.

Of one line:

    fewer lanes   the last element of a run is not loaded (another number is there), or not stored; not where lanes are off
    other lane    the last element of a run that is stored in the function's own memory is another number
    guard         a branch around loads and stores of arrays is always taken
    nothing       an element that no lane wants is read
    element       an address is that of the next element, or the one before it

Of all lines of a kernel, since one of many runs in a row has others behind it:

    mask          loads, or stores, of some lanes are of all lanes
    shifted mask  each lane looks at the mask of the one before it
    more lanes    runs that are loaded from arrays, or stored there, are one longer
    alignment     addresses of runs that are stored to arrays are said to be multiples of 64
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

KINDS = (
    "fewer lanes",
    "other lane",
    "guard",
    "nothing",
    "element",
    "mask",
    "shifted mask",
    "more lanes",
    "alignment",
)
_RUN = r"<(\d+) x (\w+)>"
_MASKED_LOAD = re.compile(
    rf"^(  %\w+ = )call {_RUN} @llvm\.masked\.load\.\w+\.p0\(ptr (align \d+) (\S+), <\d+ x i1> (\S+), .*\)$"
)
_MASKED_STORE = re.compile(
    rf"^  call void @llvm\.masked\.store\.\w+\.p0\({_RUN} (.+), ptr (align \d+) (\S+), <\d+ x i1> (\S+)\)$"
)
_BY_ADDRESS = re.compile(r"^(.*@llvm\.masked\.(?:gather|scatter)\.[^(]*\(.*<(\d+) x i1> )([^,)]+)(.*)$")
_LOAD = re.compile(rf"^(  %\w+ = )load {_RUN}, ptr (\S+), (align \d+)$")
_STORE = re.compile(rf"^  store {_RUN} (.+), ptr (\S+), (align \d+)$")
_GUARD = re.compile(r"^  br i1 (%\w+), label (%(?:then|if)\d+), label (%(?:else|fi)\d+)$")
_NOTHING = re.compile(r"^(  %\w+ = )select i1 %\w+, ptr (\S+), ptr @tx_nothing$")
_ELEMENT = re.compile(
    r"^(  %\w+ = getelementptr (?:inbounds )?(?:i8|i16|i32|i64|half|float|double), ptr %[tp]\d+, i64 )(\S+)$"
)
_OF_ARRAY = re.compile(r"^  (%\w+) = getelementptr (?:inbounds )?\w+, ptr %[tp]\d+, i64 \S+$")
_TOUCHES = re.compile(r"getelementptr (?:inbounds )?\w+, ptr %[tp]\d+,|@llvm\.masked\.")
_ALIGNED = re.compile(r"^(  store <\d+ x (?:float|double|i32|i64)>.*), align \d+$")


Lines = tuple[str, ...]
Change = Callable[[str, int], Iterator[Lines]]


@dataclass(frozen=True)
class Mutant:
    """A change of lines of a kernel's text.

    Attributes:
        kernel: its name in the corpus.
        changes: what stands in the place of lines, by their numbers from 0.
    """

    kernel: str
    kind: str
    changes: tuple[tuple[int, Lines], ...]

    @property
    def key(self) -> str:
        """How `tests/emission_mutants.txt` names it; it changes with the text of the kernel."""
        number, lines = self.changes[0]
        return f"{self.kernel}: {self.kind} from line {number}: {lines[-1].strip()}"

    def applied(self, text: str) -> str:
        """The kernel's text with the change."""
        changed = dict(self.changes)
        return "\n".join(new for k, line in enumerate(text.splitlines()) for new in changed.get(k, (line,)))


def mutants(kernel: str, text: str) -> Iterator[Mutant]:
    """Every mutant of the functions that the kernel's loops are in, not of what calls them."""
    inside, lines = False, list[tuple[int, str]]()
    for number, line in enumerate(text.splitlines()):
        if line.startswith("define"):
            inside = ".body" in line
        if inside:
            lines.append((number, line))
    arrays = {m[1] for _, line in lines if (m := _OF_ARRAY.match(line))}
    for kind, change in _OF_LINES:
        yield from (
            Mutant(kernel, kind, ((number, new),))
            for number, line in lines
            if _matters(kind, number, lines, arrays)
            for new in change(line, number)
        )
    for kind, change in _OF_KERNELS:
        for stores in (False, True):
            found = tuple(
                (number, new)
                for number, line in lines
                if ("store" in line or "scatter" in line) == stores
                for new in change(line, number)
                if kind not in ("more lanes", "alignment") or _address(line) in arrays
            )
            if found:
                yield Mutant(kernel, kind, found)


def _matters(kind: str, number: int, lines: Sequence[tuple[int, str]], arrays: Set[str]) -> bool:
    """False where a change goes to lanes that are off, or to memory of the function itself that
    nobody reads.
    """
    after = [line for n, line in lines if n >= number]
    if kind == "fewer lanes" and (m := _LOAD.match(after[0])):
        name = m[1].split()[0]
        uses = [line for line in after[1:] if re.search(rf"{name}\b", line)]
        return not all(" select " in line and line.endswith(f" {name}") for line in uses)
    if kind in ("fewer lanes", "other lane") and (m := _STORE.match(after[0])):
        # What is not stored in its own memory may be any number, even the right one.
        return (m[4] in arrays) == (kind == "fewer lanes")
    if kind == "guard" and (m := _GUARD.match(after[0])):
        end = after.index(f"{m[3][1:]}:")
        return any(_TOUCHES.search(line) for line in after[:end])
    return True


def _address(line: str) -> str:
    """The address of a run."""
    m = _LOAD.match(line)
    if m is not None:
        return m[4]
    m = _STORE.match(line)
    return m[4] if m is not None else ""


def _unmasked(line: str, number: int) -> Iterator[Lines]:
    if m := _MASKED_LOAD.match(line):
        yield (f"{m[1]}load <{m[2]} x {m[3]}>, ptr {m[5]}, {m[4]}",)
    elif m := _MASKED_STORE.match(line):
        yield (f"  store <{m[1]} x {m[2]}> {m[3]}, ptr {m[5]}, {m[4]}",)
    elif (m := _BY_ADDRESS.match(line)) and not m[3].startswith("splat"):
        yield (f"{m[1]}splat (i1 true){m[4]}",)


def _shifted(line: str, number: int) -> Iterator[Lines]:
    m = _MASKED_LOAD.match(line) or _MASKED_STORE.match(line)
    if m is None:
        return
    lanes, mask = (int(m[2]), m[6]) if "= call" in line else (int(m[1]), m[6])
    order = ", ".join(f"i32 {max(k - 1, 0)}" for k in range(lanes))
    t, name = f"<{lanes} x i1>", f"%mutant{number}"
    yield (
        f"  {name} = shufflevector {t} {mask}, {t} {mask}, <{lanes} x i32> <{order}>",
        line.replace(f"{t} {mask}", f"{t} {name}"),
    )


def _longer(line: str, number: int) -> Iterator[Lines]:
    name = f"%mutant{number}"
    if m := _LOAD.match(line):
        lanes, t = int(m[2]), m[3]
        order = ", ".join(f"i32 {k}" for k in range(lanes))
        more = f"<{lanes + 1} x {t}>"
        yield (
            f"  {name} = load volatile {more}, ptr {m[4]}, {m[5]}",
            f"{m[1]}shufflevector {more} {name}, {more} {name}, <{lanes} x i32> <{order}>",
        )
    elif m := _STORE.match(line):
        lanes, t = int(m[1]), m[2]
        order = ", ".join(f"i32 {k}" for k in [*range(lanes), 0])
        run = f"<{lanes} x {t}>"
        yield (
            f"  {name} = shufflevector {run} {m[3]}, {run} {m[3]}, <{lanes + 1} x i32> <{order}>",
            f"  store <{lanes + 1} x {t}> {name}, ptr {m[4]}, {m[5]}",
        )


def _fewer(line: str, number: int) -> Iterator[Lines]:
    name = f"%mutant{number}"
    if m := _LOAD.match(line):
        t = f"<{m[2]} x {m[3]}>"
        yield (
            f"  {name} = load {t}, ptr {m[4]}, {m[5]}",
            f"{m[1]}insertelement {t} {name}, {_other(m[3])}, i64 {int(m[2]) - 1}",
        )
    elif m := _STORE.match(line):
        lanes, t = int(m[1]), f"<{m[1]} x {m[2]}>"
        order = ", ".join(f"i32 {k}" for k in range(lanes - 1))
        yield (
            f"  {name} = shufflevector {t} {m[3]}, {t} {m[3]}, <{lanes - 1} x i32> <{order}>",
            f"  store <{lanes - 1} x {m[2]}> {name}, ptr {m[4]}, {m[5]}",
        )


def _other(t: str) -> str:
    return f"{t} 77.0" if t in ("half", "float", "double") else f"{t} 77"


def _changed(line: str, number: int) -> Iterator[Lines]:
    if m := _STORE.match(line):
        t, name = f"<{m[1]} x {m[2]}>", f"%mutant{number}"
        yield (
            f"  {name} = insertelement {t} {m[3]}, {_other(m[2])}, i64 {int(m[1]) - 1}",
            f"  store {t} {name}, ptr {m[4]}, {m[5]}",
        )


def _unguarded(line: str, number: int) -> Iterator[Lines]:
    if m := _GUARD.match(line):
        yield (f"  br i1 true, label {m[2]}, label {m[3]}",)


def _wanted(line: str, number: int) -> Iterator[Lines]:
    if m := _NOTHING.match(line):
        yield (f"{m[1]}getelementptr i8, ptr {m[2]}, i64 0",)


def _beside(line: str, number: int) -> Iterator[Lines]:
    if m := _ELEMENT.match(line):
        for word in ("add", "sub"):
            yield (
                f"  %mutant{number} = {word} i64 {m[2]}, 1",
                f"{m[1].replace(' inbounds', '')}%mutant{number}",
            )


def _aligned(line: str, number: int) -> Iterator[Lines]:
    if m := _ALIGNED.match(line):
        yield (f"{m[1]}, align 64",)


_OF_LINES: tuple[tuple[str, Change], ...] = (
    ("fewer lanes", _fewer),
    ("other lane", _changed),
    ("guard", _unguarded),
    ("nothing", _wanted),
    ("element", _beside),
)
_OF_KERNELS: tuple[tuple[str, Change], ...] = (
    ("mask", _unmasked),
    ("shifted mask", _shifted),
    ("more lanes", _longer),
    ("alignment", _aligned),
)
