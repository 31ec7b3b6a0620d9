"""The registry of steps. A step is a function from a kernel to a kernel, in a file of its name in
the folder of its kind.

Importing the file registers it. Scripts, the methods of schedules, their stub, the reference and
the fuzzer take steps from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import Parameter, Signature, signature
from pkgutil import iter_modules
from typing import Literal, TypeVar

from texpr.ir.loop import Kernel
from texpr.support.once import once

KINDS = ("loops", "placement", "buffers", "reductions", "algebra", "hardware")
"""Folders of steps, in the order of the reference."""
OrderOfSums = Literal["kept", "kept unless lanes run over terms", "changed"]
F = TypeVar("F", bound=Callable[..., Kernel])


@dataclass(frozen=True)
class Rule:
    """A registered step.

    Attributes:
        name: what users call it.
        function: takes a kernel, then what users give.
        kind: its folder, one of `KINDS`.
        aliases: older names, which scripts and methods may use.
        options: older names of options, with those of now.
        order_of_sums: whether sums have the same order of terms after it; what is not said is
            `changed`.
    """

    name: str
    function: Callable[..., Kernel]
    kind: str
    aliases: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    order_of_sums: OrderOfSums = "changed"

    @once
    def signature(self) -> Signature:
        """The arguments of users: the parameters behind the kernel."""
        _, *rest = signature(self.function).parameters.values()
        return Signature(rest)

    @property
    def usage(self) -> str:
        """The parameters as text, without types: `(outer, inner, *, name=None)`."""
        return str(
            Signature([p.replace(annotation=Parameter.empty) for p in self.signature.parameters.values()])
        )


_RULES: dict[str, Rule] = {}


def step(*older: str, order_of_sums: OrderOfSums = "changed", **options: str) -> Callable[[F], F]:
    """Register a function of this package as a step of its name.

    Args:
        older: older names.
        order_of_sums: see `Rule`.
        options: `old="new"`, older names of options.
    """

    def register(function: F) -> F:
        kind = function.__module__.split(".")[-2]
        _RULES[function.__name__] = Rule(function.__name__, function, kind, older, options, order_of_sums)
        rules.cache_clear()
        aliases.cache_clear()
        return function

    return register


@cache
def rules() -> dict[str, Rule]:
    """All steps by name, by kind and then in alphabetical order."""
    for kind in KINDS:
        package = import_module(f"{__package__}.{kind}")
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")
    return {r.name: r for r in sorted(_RULES.values(), key=lambda r: (KINDS.index(r.kind), r.name))}


@cache
def aliases() -> dict[str, str]:
    """Older names of steps, with those of now."""
    return {alias: rule.name for rule in rules().values() for alias in rule.aliases}
