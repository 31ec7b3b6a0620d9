"""How many registers parts of buffers take at once: between first and last uses, and all along
loops that carry them.
"""

from __future__ import annotations

from tests.targets.gpu.test_barriers import loop, tensor
from texpr.ir.expr import Read, Var, index
from texpr.ir.loop import Alloc, For, Store
from texpr.targets.gpu.register_pressure import peak_registers
from texpr.targets.gpu.thread_registers import OwnedElements


def taken(*names: str, carried: str = "") -> int:
    """Of a loop that fills buffers, one from the other: each has ten words. What is carried is
    read before it is filled.
    """
    buffers = {name: tensor(name, 10, scope="register") for name in {*names, *carried}}
    x, y, k, t = tensor("X", 10), tensor("Y", 10), Var("k"), Var("t")
    chain = [Read(x, (index(0),)), *(Read(buffers[name], (index(0),)) for name in names)]
    body = [Store(buffers[name], (index(0),), before) for name, before in zip(names, chain)]
    body += [Store(buffers[name], (index(0),), chain[-1], "add") for name in carried] or [
        Store(y, (index(0),), chain[-1])
    ]
    places = tuple((i,) for i in range(10))
    own = {b: OwnedElements(b, (0,), (1,), places) for b in buffers.values()}
    nest = loop(t, 32, "thread.x", *(Alloc(b) for b in buffers.values()), For(k, index(4), tuple(body)))
    return peak_registers(nest, own)


def test_what_comes_one_after_the_other():
    """Of a chain two are there at once, while one is made of the other."""
    assert taken("a") == 10 and taken("a", "b") == taken("a", "b", "c", "d") == 20


def test_what_a_loop_carries_is_there_all_along():
    assert taken("a", "b", carried="s") == 30 and taken("a", "b", carried="st") == 40
