"""The operators of a text, and their Programs, from the disk cache where they were made before: what
is found there was parsed and proven then, and needs neither parser nor provers now.

A record is found by the text, what is asked of it, and the texpr that made it (`support.version`),
to which the operator library belongs. Texts that use files have none, nor have those with external
operators.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import astuple
from hashlib import sha256

from texpr import lang
from texpr.compiler import kernel_cache
from texpr.compiler.imports import LIBRARY, Uses
from texpr.compiler.operator_signature import Constant, Parameter, Signature, signature_of_declaration
from texpr.ir.dtypes import DType
from texpr.ir.json.program import Decoder, Encoder
from texpr.ir.tensor import Program
from texpr.lang.elaboration.axis_spec import AxisSpec
from texpr.runtime import disk_cache
from texpr.support.frozen_dataclass import frozen
from texpr.support.once import once
from texpr.support.options import current
from texpr.support.source import Source
from texpr.support.version import identity

_LIBRARY = "ops/"
"""Names of the library's texts begin so."""
_WATCHED: ContextVar[Callable[[], None] | None] = ContextVar("texpr_watched_records", default=None)


@contextmanager
def watched(unknown: Callable[[], None]) -> Iterator[None]:
    """A block in which `unknown` is called for each program that the disk cache might know and does
    not.
    """
    token = _WATCHED.set(unknown)
    try:
        yield
    finally:
        _WATCHED.reset(token)


@frozen
class Declared:
    """An operator of a text.

    Attributes:
        text: as it is written.
        extern: its body is a function of this process.
    """

    signature: Signature
    text: str
    extern: bool


class Declarations:
    """The operators of a text, which is parsed where the disk cache does not know it.

    Attributes:
        operators: by name, in the order of the text.
        source: the text.
    """

    def __init__(self, text: str, name: str, uses: Uses, only: str | None = None) -> None:
        """Args: only: read one operator and what it needs.

        Raises:
            ParseError, CheckError: with the place in the text.
        """
        self.source, self._uses, self._only = Source(name, text), uses, only
        self._key = "" if uses.texts or not kernel_cache.usable() else self._digest()
        found = _operators_of(disk_cache.shared().get(self._key)) if self._key else None
        self.operators = self._parsed() if found is None else found

    def program(
        self, name: str, dtypes: Mapping[str, DType], constants: Mapping[str, object], absent: frozenset[str]
    ) -> Program:
        """The Program of an operator: see `lang.elaborate`."""
        asked = (name, [(n, str(t)) for n, t in dtypes.items()], list(constants.items()), sorted(absent))
        key = self._key and f"program\0{self._key}\0{asked!r}"
        found = self._program_of(disk_cache.shared().get(key)) if key else None
        if found is None:
            if key and (unknown := _WATCHED.get()) is not None:
                unknown()
            found = lang.elaborate(self._module.ops[name], dtypes, constants, absent)  # type: ignore[arg-type]
            if key:
                self._keep(key, found)
        return found

    def _digest(self) -> str:
        parts = identity(), str(current().text_limit), self._only or "", self.source.name, self.source.text
        return f"operators {sha256(chr(0).join(parts).encode('utf-8', 'surrogatepass')).hexdigest()}"

    @once
    def _module(self) -> lang.Module:
        return lang.parse(self.source.text, self.source.name, self._uses, self._only)

    def _parsed(self) -> dict[str, Declared]:
        module = self._module
        made = {n: Declared(signature_of_declaration(d), d.text, d.extern) for n, d in module.ops.items()}
        externs = any(d.extern for d in (*module.ops.values(), *module.imported.values()))
        if externs or self._uses.texts or module.source != self.source:
            self._key = ""
        if self._key:
            disk_cache.shared().put(self._key, json.dumps([astuple(d) for d in made.values()]).encode())
        return made

    def _keep(self, key: str, program: Program) -> None:
        encoder = Encoder(spans=True)
        try:
            item = encoder.item(program)
        except ValueError:
            return
        names = [s.name for s in encoder.sources]
        if all(s == self.source or s.name.startswith(_LIBRARY) for s in encoder.sources):
            disk_cache.shared().put(
                key, json.dumps([names, encoder.rows, item], separators=(",", ":")).encode()
            )

    def _program_of(self, record: bytes | None) -> Program | None:
        """A Program that was kept; None where it was not, or is damaged."""
        if record is None:
            return None
        try:
            names, rows, item = json.loads(record)
            found = Decoder(rows, sources=[self._source(name) for name in names]).item(item)
        except (ValueError, TypeError, IndexError, OSError):
            return None
        return found if isinstance(found, Program) else None

    def _source(self, name: str) -> Source:
        if name == self.source.name:
            return self.source
        return Source(name, (LIBRARY / name.removeprefix(_LIBRARY)).read_text(encoding="utf-8"))


def _operators_of(record: bytes | None) -> dict[str, Declared] | None:
    """The operators that were kept; None where there are none, or they are damaged."""
    if record is None:
        return None
    try:
        read = [Declared(_signature(*head), text, extern) for head, text, extern in json.loads(record)]
    except (ValueError, TypeError):
        return None
    return {d.signature.name: d for d in read} or None


def _signature(
    name: str, inputs: list, constants: list, variables: list, doc: str, outputs: list, axes: list
) -> Signature:
    return Signature(
        name,
        tuple(Parameter(*p) for p in inputs),
        tuple(Constant(*c) for c in constants),
        tuple((n, kind) for n, kind in variables),
        doc,
        tuple(Parameter(*p) for p in outputs),
        tuple(AxisSpec(*a) for a in axes),
    )
