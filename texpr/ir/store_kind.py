"""Roles and modes of stores, with the words that listings have for them. A store has one of each.

    role    start  part                          the meaning of the value to its equation
    mode    nontemporal  asynchronous  atomic    the way in which memory is written

Modes exclude each other. An update reads memory, so it is not non-temporal. Asynchronous are copies
and products, and neither is an atomic instruction. The default of either has no word.
"""

from __future__ import annotations

from enum import Enum


class StoreRole(Enum):
    """The part of a store in the computation of its equation."""

    VALUE = ""
    """It stores the value of the equation, or adds a term to it."""
    START = "start"
    """It gives a reduction its start value."""
    PARTIAL_START = "part"
    """It gives a part of a fold its start value; the part is added to the element later."""

    def __str__(self) -> str:
        return self.value


class StoreMode(Enum):
    """The way in which memory is written."""

    PLAIN = ""
    NONTEMPORAL = "nontemporal"
    """Whole vectors go past the caches to memory; a hint."""
    ASYNCHRONOUS = "asynchronous"
    """A copy that is only begun: the element may change until a `Wait` of this thread covers its
    group. Or, in the nest of an instruction, an update that is only begun: operands are read, and
    the sum changes, until a `WaitProducts` covers its group.
    """
    ATOMIC = "atomic"
    """An update that no other thread comes between: iterations that run at once may meet in it."""

    def __str__(self) -> str:
        return self.value


# Members by plain names: Python 3.11 looks up a member in its class in 60 ns, a name in 7 ns.
VALUE, START, PARTIAL_START = StoreRole.VALUE, StoreRole.START, StoreRole.PARTIAL_START
PLAIN, NONTEMPORAL = StoreMode.PLAIN, StoreMode.NONTEMPORAL
ASYNCHRONOUS, ATOMIC = StoreMode.ASYNCHRONOUS, StoreMode.ATOMIC
ROLE_WORDS = {str(role): role for role in StoreRole if role is not VALUE}
MODE_WORDS = {str(mode): mode for mode in StoreMode if mode is not PLAIN} | {"stream": NONTEMPORAL}
"""Words of listings; `stream` is an older one."""
