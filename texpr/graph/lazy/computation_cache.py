"""Plans and programs that were made before, for computations of the same structure.

A plan has arrays for all that it computes and for what it is given. So what was made for a module's
program is held by a `ComputationCache` that goes with the module, and all together has a bound in
bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from itertools import count
from typing import Any
from weakref import ReferenceType, WeakSet, ref

from texpr.graph.execution.plan import Plan
from texpr.graph.lowering.default_kernels import signature
from texpr.ir.tensor import Program
from texpr.ir.traverse import equal
from texpr.support.forks import held_over_forks

MOST = 256
"""Things that are kept at most."""
MOST_BYTES = 1 << 28
"""Memory of plans above which those that were used last are kept alone, `FEWEST` of them whatever
they take: the plans of a training loop must not displace each other.
"""
FEWEST = 8

_lock = held_over_forks(threading.RLock())
_entries: WeakSet[Entry] = WeakSet()
_caches: WeakSet[ComputationCache] = WeakSet()
_now = count()


class ComputationCache:
    """Plans and derivatives of a program; modules whose programs are equal share one.

    Attributes:
        program: None for what no module takes part in.
        weight: bytes of the module's variables.
    """

    __slots__ = ("__weakref__", "made", "program", "signature", "weight")

    def __init__(self, program: Program | None = None, weight: int = 0) -> None:
        self.program, self.weight = program, weight
        self.signature = None if program is None else signature(program)
        self.made: dict[tuple, Entry] = {}

    def get_or_make(self, key: tuple, others: Iterable[ComputationCache], make: Callable[[], Any]) -> Any:
        """The computation for a key, made before or now.

        Args:
            others: caches of programs whose identities are part of the key.
        """
        return self.entry(key, others, make).made

    def entry(self, key: tuple, others: Iterable[ComputationCache], make: Callable[[], Any]) -> Entry:
        """The same as what is kept of it."""
        with _lock:
            found = self.made.get(key)
            if found is not None:
                return found.now_used()
        made = make()
        with _lock:
            entry = self.made[key] = Entry(key, made, ref(self), tuple(k for k in others if not k.weight))
            _entries.add(entry)
            _forget_oldest()
        return entry


class Entry:
    """Something that is kept.

    Attributes:
        used: when it was asked for last.
        others: caches that cost nothing and are to stay as long as this entry, so that equal
            programs of other modules find it.
    """

    __slots__ = ("__weakref__", "bytes", "key", "cache", "made", "others", "used")

    def __init__(
        self,
        key: tuple,
        made: Any,
        cache: ReferenceType[ComputationCache],
        others: tuple[ComputationCache, ...],
    ) -> None:
        self.key, self.made, self.cache, self.others, self.used = key, made, cache, others, next(_now)
        self.bytes = made.held_bytes if isinstance(made, Plan) else 0

    def now_used(self) -> Entry:
        """Note that it is asked for."""
        self.used = next(_now)
        return self


GENERAL = ComputationCache()
"""Of structures in which no module with variables takes part."""


def cache_of_program(program: Program, weight: int) -> ComputationCache:
    """The cache of a module's program, with the first program that was equal to it."""
    made = ComputationCache(program, weight)
    with _lock:
        same = (k for k in _caches if k.signature == made.signature and k.weight == weight)
        found = next((k for k in same if equal(k.program, program)), None)  # type: ignore[arg-type]
        if found is None:
            _caches.add(made)
        return found or made


def heaviest_cache(caches: Collection[ComputationCache]) -> ComputationCache:
    """The cache whose module has the most variables; the general one without any."""
    if not caches:
        return GENERAL
    found = max(caches, key=lambda k: k.weight, default=GENERAL)
    return found if found.weight else GENERAL


def _forget_oldest() -> None:
    total = 0
    for n, entry in enumerate(sorted(_entries, key=lambda e: e.used, reverse=True), 1):
        total += entry.bytes
        cache = entry.cache()
        if cache is not None and (n > MOST or n > FEWEST and total > MOST_BYTES):
            cache.made.pop(entry.key, None)
