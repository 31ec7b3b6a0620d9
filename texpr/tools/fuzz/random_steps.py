"""Random steps for a kernel: every step there is, its arguments taken from what the kernel has,
and now and then from nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter
from random import Random

from texpr.ir.build import integer
from texpr.ir.expr import Read, Tensor
from texpr.ir.instructions import INSTRUCTIONS
from texpr.ir.loop import For, If, Kernel, Store
from texpr.ir.traverse import variables, walk
from texpr.schedule.script.script import Step
from texpr.schedule.steps.registry import rules
from texpr.schedule.structure.loops import all_loops, loop_names, paths, shortest, stores
from texpr.support.frozen_dataclass import replace

_OFTEN = (
    "split",
    "split",
    "reorder",
    "reorder",
    "compute_at",
    "compute_at",
    "cache_read",
    "cache_write",
    "vectorize",
    "parallel",
    "tile",
)
"""Steps that others build on."""
_TAILS = ("guard", "peel", "exact", "clip", "mask", "pad", "overlap")
_STRANGE = (
    None,
    True,
    0,
    -1,
    1 << 40,
    2.5,
    1e300,
    "",
    "i",
    "no such",
    "a b",
    ("i", "j"),
    (),
    "\x00",
    "C.",
    ".i",
    "for",
    [1],
)
_WRONG = 0.03
"""The share of steps with an argument from nowhere."""
_IDIOM = 0.12
"""The share of steps that begin one of `_IDIOMS`."""


def steps_for(rng: Random, kernel: Kernel) -> list[Step]:
    """One random step, or a few that belong together: the later ones name loops that the earlier
    ones make.
    """
    if rng.random() < _IDIOM and all_loops(kernel):
        return rng.choice(_IDIOMS)(rng, kernel)
    step = random_step(rng, kernel)
    return [_wrong(rng, step) if rng.random() < _WRONG else step]


def random_step(rng: Random, kernel: Kernel) -> Step:
    """Any step. That it is legal, or even possible, is likely but not certain."""
    names = loop_names(kernel)
    if not names:
        return Step("allow_fma")
    kind = rng.choice((*rules(), *_OFTEN))
    return _ARGUMENTS.get(kind, _by_signature)(rng, kernel, kind, names)


def _wrong(rng: Random, step: Step) -> Step:
    """The step with an argument that nobody would give."""
    args, options = list(step.args), dict(step.options)
    match rng.randrange(5):
        case 0 if args:
            args[rng.randrange(len(args))] = rng.choice(_STRANGE)
        case 1 if options:
            options[rng.choice(list(options))] = rng.choice(_STRANGE)
        case 2 if args:
            args.pop()
        case 3:
            options[
                rng.choice(("tail", "name", "names", "sizes", "reassoc", "recompute", "slide", "extra", "N"))
            ] = rng.choice(_STRANGE)
        case _:
            args.append(rng.choice(_STRANGE))
    return replace(step, args=tuple(args), options=tuple(options.items()))


_Maker = Callable[[Random, Kernel, str, list[str]], Step]


def _by_signature(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    """Arguments by the names and types of a step's parameters; those with defaults now and then."""
    args: list[object] = []
    options: dict[str, object] = {}
    for p in rules()[kind].signature.parameters.values():
        if p.kind is Parameter.VAR_KEYWORD or p.default is not Parameter.empty and rng.random() < 0.5:
            continue
        value = _of_parameter(rng, kernel, p, names)
        if p.kind is Parameter.POSITIONAL_OR_KEYWORD and p.default is Parameter.empty:
            args.append(value)
        elif p.kind is Parameter.VAR_POSITIONAL:
            args += rng.choices(names, k=rng.randint(1, 2))
        else:
            options[p.name] = value
    return Step(kind, tuple(args), tuple(options.items()))


def _of_parameter(rng: Random, kernel: Kernel, p: Parameter, names: list[str]) -> object:
    kind = str(p.annotation)
    if kind.startswith("bool"):
        return rng.random() < 0.8
    if kind.startswith("int"):
        return rng.randint(0, 4)
    return (
        rng.choice([t.name for t in _tensors(kernel)])
        if p.name in ("tensor", "maximum")
        else rng.choice(names)
    )


def _split(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    tail = rng.choice((*_TAILS, "guard", "guard", "peel"))
    return Step(kind, (rng.choice(names), rng.randint(1, 5)), (("tail", tail),) if tail != "guard" else ())


def _counted(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    """`unroll`, `vectorize`, `unroll_and_jam`: a loop, a number, a tail."""
    given = (rng.randint(1, 4),) if kind == "unroll_and_jam" else rng.choice(((), (), (2,), (3,), (4,)))
    tail = (("tail", rng.choice(_TAILS)),) if given and rng.random() < 0.3 else ()
    return Step(kind, (rng.choice(names), *given), tail)


def _fuse(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    outer = rng.choice(all_loops(kernel))
    inner = [s for s in outer.body if isinstance(s, For)]
    return Step(
        kind, (shortest(kernel, outer), shortest(kernel, rng.choice(inner)) if inner else rng.choice(names))
    )


def _reorder(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    chosen = _nested(rng, kernel) if rng.random() < 0.7 else names
    return Step(kind, tuple(rng.sample(chosen, rng.randint(min(2, len(chosen)), min(5, len(chosen))))))


def _nested(rng: Random, kernel: Kernel) -> list[str]:
    """Loops inside one another."""
    loop, found = rng.choice(all_loops(kernel)), []
    while True:
        found.append(shortest(kernel, loop))
        inside = [n for n in loop.body if isinstance(n, For)]
        if not inside:
            return list(dict.fromkeys(found))
        loop = rng.choice(inside)


def _tile(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    chosen = _nested(rng, kernel)
    loops = rng.sample(chosen, rng.randint(1, min(3, len(chosen))))
    tail = (("tail", rng.choice(_TAILS)),) if rng.random() < 0.3 else ()
    return Step(kind, tuple(loops), (("sizes", tuple(rng.randint(1, 4) for _ in loops)), *tail))


def _skew(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    chosen = _nested(rng, kernel)
    inner, outer = (
        (chosen[-1], rng.choice(chosen[:-1])) if len(chosen) > 1 else (rng.choice(names), rng.choice(names))
    )
    return Step(kind, (inner, outer, rng.choice((1, 1, 2, -1))))


def _over_terms(kernel: Kernel) -> list[str]:
    """Loops that add to one element."""
    folding = [
        n
        for n in all_loops(kernel)
        for s in stores(n)
        if s.update is not None and n.var not in variables(*s.indices)
    ]
    return [shortest(kernel, n) for n in folding]


def _rfactor(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    folding = _over_terms(kernel)
    name = rng.choice(folding) if folding and rng.random() < 0.8 else rng.choice(names)
    return Step(kind, (name,), (("reassoc", True),) if rng.random() < 0.7 else ())


def _factor_out(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    folding = _over_terms(kernel)
    loops = rng.choices(folding if folding and rng.random() < 0.9 else names, k=rng.choice((1, 1, 2)))
    return Step(
        kind,
        tuple(dict.fromkeys(loops)),
        (("reassoc", True), *((("finite", True),) if rng.random() < 0.8 else ())),
    )


def _online_softmax(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    named = [t.name for t in kernel.temporaries]
    return Step(
        kind,
        (rng.choice(named or names), rng.randint(1, 5)),
        (("reassoc", True),) if rng.random() < 0.7 else (),
    )


def _drop_padding(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(kind, (rng.choice(names),), (("finite", True),) if rng.random() < 0.8 else ())


def _reciprocal(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(kind, (rng.choice([t.name for t in (*kernel.outputs, *kernel.temporaries)] or names),))


def _premultiply(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    folding = _over_terms(kernel)
    loop = rng.choice(folding if folding and rng.random() < 0.9 else names)
    return Step(kind, (loop, rng.randint(0, 2), rng.randint(0, 2)), (("reassoc", True),))


def _peel(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(kind, (rng.choice(names), rng.randint(0, 2), rng.randint(0, 2)))


def _partition(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    bounded = [
        n
        for above, _ in paths(kernel)
        for k, n in enumerate(above)
        if isinstance(n, For) and any(isinstance(m, If) for m in above[k:])
    ]
    return Step(
        kind,
        (shortest(kernel, rng.choice(bounded)) if bounded and rng.random() < 0.9 else rng.choice(names),),
    )


def _fission(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    if rng.random() >= 0.4:
        return Step(kind, (rng.choice(names),))
    after = rng.choice(names) if rng.random() < 0.4 else rng.choice(_computed(kernel))
    return Step(
        kind, (rng.choice(names), after), (("name", rng.choice(("r", *names))),) if rng.random() < 0.3 else ()
    )


def _merge(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    bodies = [kernel.body, *(n.body for n in all_loops(kernel))]
    beside = [[n for n in body if isinstance(n, For)] for body in bodies]
    several = [loops for loops in beside if len(loops) > 1]
    if not several or rng.random() < 0.1:
        return Step(kind, (rng.choice(names), rng.choice(names)))
    loops = rng.choice(several)
    k = rng.randrange(len(loops) - 1)
    return Step(
        kind,
        (
            shortest(kernel, loops[k]),
            shortest(kernel, loops[k + 1 if rng.random() < 0.8 else rng.randrange(len(loops))]),
        ),
    )


def _specialize(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    sizes = [v.name for v in kernel.sizes] or ["M"]
    chosen = rng.sample(sizes, rng.randint(1, min(2, len(sizes))))
    return Step(
        kind,
        (rng.choice(names),) if rng.random() < 0.5 else (),
        tuple((n, rng.randint(0, 6)) for n in chosen),
    )


def _annotate(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(kind, (rng.choice(names),), (("mark", rng.choice((1, -2.5, True, "a b"))),))


def _prefetch(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    tensors = [t.name for t in (*kernel.inputs, *kernel.outputs, *kernel.temporaries)]
    at = (("at", rng.choice(names)),) if rng.random() < 0.3 else ()
    return Step(kind, (rng.choice(tensors), rng.choice(names), rng.randint(1, 3)), at)


def _nontemporal(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(kind, (rng.choice([t.name for t in kernel.outputs] or ["Y"]),))


def _atomic(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(
        kind, (rng.choice(_tensors(kernel)).name,), (("reassoc", True),) if rng.random() < 0.8 else ()
    )


def _bind(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(kind, (rng.choice(names), rng.choice(("block.x", "block.y", "thread.x", "thread.y"))))


def _allow_fma(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(kind, rng.choice(((), ("sums",))))


def _computed(kernel: Kernel) -> list[str]:
    """Tensors that have loops of their own."""
    return list(dict.fromkeys(n.tensor for n in all_loops(kernel)))


def _compute_at(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    how = (
        rng.choice(((), (), (("recompute", True),), (("slide", True),), (("recompute", False),)))
        if kind == "compute_at"
        else ()
    )
    computed = set(_computed(kernel))
    pairs = [
        (t.name, n) for t, around in _uses(kernel, Read) for n in around if t.name in computed - {n.tensor}
    ]
    if not pairs or rng.random() < 0.2:
        return Step(kind, (rng.choice(_computed(kernel)), rng.choice(names)), how)
    producer, loop = rng.choice(pairs)
    if kind == "compute_at":
        return Step(kind, (producer, shortest(kernel, loop)), how)
    return Step(
        kind,
        (loop.tensor, shortest(kernel, rng.choice([n for n in all_loops(kernel) if n.tensor == producer]))),
    )


def _uses(kernel: Kernel, kind: type[Read] | type[Store]) -> list[tuple[Tensor, tuple[For, ...]]]:
    """Tensors that are read, or stored to, with the loops around."""
    found = []
    for above, s in paths(kernel):
        tensors = dict.fromkeys(n.tensor for n in walk(s) if isinstance(n, kind))
        found += [(t, tuple(n for n in above if isinstance(n, For))) for t in tensors]
    return [(t, around) for t, around in found if around]


def _inline(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(kind, (rng.choice(_computed(kernel)),))


def _fold_storage(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(kind, (_buffer(rng, kernel), rng.randint(0, 1), *rng.choice(((), (), (1,), (2,), (3,)))))


def _pipeline(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    what = rng.choice(names) if rng.random() < 0.5 else _buffer(rng, kernel)
    return Step(kind, (what, *rng.choice(((), (2,), (3,)))))


def _tensors(kernel: Kernel) -> list[Tensor]:
    return [*kernel.inputs, *kernel.outputs, *kernel.temporaries]


def _buffer(rng: Random, kernel: Kernel) -> str:
    """A tensor, a temporary most of the time if there is one."""
    temporaries = list(kernel.temporaries)
    return rng.choice(temporaries if temporaries and rng.random() < 0.85 else _tensors(kernel)).name


def _cache(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    uses = _uses(kernel, Read if kind == "cache_read" else Store)
    if not uses or rng.random() < 0.1:
        return Step(kind, (rng.choice(_tensors(kernel)).name, rng.choice(names)))
    tensor, around = rng.choice(uses)
    if kind == "cache_read" and rng.random() < 0.15:
        return Step(kind, (tensor.name,))
    inside = (("out", False),) if kind == "cache_write" and rng.random() < 0.3 else ()
    if kind == "cache_read" and rng.random() < 0.2:
        inside = (("along", rng.choice(names)),)
    return Step(kind, (tensor.name, shortest(kernel, rng.choice(around))), inside)


def _pad(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    extra = (("extra", rng.randint(1, 3)),) if rng.random() < 0.3 else ()
    return Step(kind, (_buffer(rng, kernel), rng.randint(0, 1), rng.randint(1, 4)), extra)


def _set_scope(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(kind, (_buffer(rng, kernel), rng.choice(("stack", "heap", "register", "shared"))))


def _scalable(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(
        kind, (rng.choice(names), rng.choice((1, 2, 4))), (("reassoc", True),) if rng.random() < 0.7 else ()
    )


def _swizzle(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(
        kind, (_buffer(rng, kernel), *(rng.choice((1, 2, 3, 4)) for _ in range(2)), rng.choice((2, 4, 8, 16)))
    )


def _layout(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    tensor = rng.choice(
        _tensors(kernel) if rng.random() < 0.2 else list(kernel.temporaries) or _tensors(kernel)
    )
    axes = list("abcdefgh"[: tensor.rank])
    parts = [part for n in axes for part in ([f"{n}/3", f"{n}%3"] if rng.random() < 0.4 else [n])]
    rng.shuffle(parts)
    return Step(kind, (tensor.name, f"{' '.join(axes)} -> {' '.join(parts)}"))


def _tensorize(rng: Random, kernel: Kernel, kind: str, names: list[str]) -> Step:
    return Step(
        kind,
        (rng.choice(names), rng.choice(sorted(INSTRUCTIONS))),
        (("reassoc", True),) if rng.random() < 0.5 else (),
    )


_ARGUMENTS: dict[str, _Maker] = {
    "split": _split,
    "unroll": _counted,
    "vectorize": _counted,
    "unroll_and_jam": _counted,
    "fuse": _fuse,
    "reorder": _reorder,
    "tile": _tile,
    "skew": _skew,
    "rfactor": _rfactor,
    "peel": _peel,
    "partition": _partition,
    "fission": _fission,
    "merge": _merge,
    "specialize": _specialize,
    "annotate": _annotate,
    "prefetch": _prefetch,
    "nontemporal": _nontemporal,
    "atomic": _atomic,
    "bind": _bind,
    "allow_fma": _allow_fma,
    "compute_at": _compute_at,
    "reverse_compute_at": _compute_at,
    "inline": _inline,
    "fold_storage": _fold_storage,
    "pipeline": _pipeline,
    "cache_read": _cache,
    "cache_write": _cache,
    "pad": _pad,
    "set_scope": _set_scope,
    "swizzle": _swizzle,
    "layout": _layout,
    "tensorize": _tensorize,
    "online_softmax": _online_softmax,
    "drop_padding": _drop_padding,
    "reciprocal": _reciprocal,
    "factor_out": _factor_out,
    "premultiply": _premultiply,
    "expand_dim": _cache,
    "vectorize_scalable": _scalable,
}
"""Steps whose arguments are drawn by what is likely to be legal; those of others follow from
their signature.
"""


# Steps that belong together.


def _stencil(rng: Random, kernel: Kernel) -> list[Step]:
    """A producer in the tiles of what uses it, with the storage folded or computed ahead."""
    computed = set(_computed(kernel))
    pairs = [
        (t.name, n) for t, around in _uses(kernel, Read) for n in around if t.name in computed - {n.tensor}
    ]
    tensor, loop = (
        rng.choice(pairs) if pairs else (rng.choice(_computed(kernel)), rng.choice(all_loops(kernel)))
    )
    name, factor = shortest(kernel, loop), rng.randint(2, 4)
    outer, inner = name + "o", name + "i"
    way = rng.choice(
        (
            [Step("compute_at", (tensor, outer)), Step("pipeline", (tensor,))],
            [
                Step("compute_at", (tensor, inner), (("slide", True),)),
                Step("fold_storage", (tensor, rng.randint(0, 1))),
            ],
            [Step("compute_at", (tensor, outer)), Step("set_scope", (tensor, "stack"))],
            [
                Step("compute_at", (tensor, outer)),
                Step("pad", (tensor, 0, 4)),
                Step("layout", (tensor, "a b -> b a")),
            ],
        )
    )
    return [Step("split", (name, factor)), *way, Step("parallel", (outer,))]


def _wavefront(rng: Random, kernel: Kernel) -> list[Step]:
    """Two nested loops skewed and exchanged."""
    chosen = _nested(rng, kernel)
    if len(chosen) < 2:
        return [random_step(rng, kernel)]
    at = rng.randrange(len(chosen) - 1)
    outer, inner = chosen[at : at + 2]
    last = rng.choice(
        (
            Step("parallel", (outer,)),
            Step("vectorize", (outer, 4)),
            Step("tile", (outer, inner), (("sizes", (2, 3)),)),
        )
    )
    return [Step("skew", (inner, outer, rng.choice((1, 1, 2, -1)))), Step("reorder", (inner, outer)), last]


def _strip(rng: Random, kernel: Kernel) -> list[Step]:
    """A loop in strips of lanes, moved inwards."""
    chosen = _nested(rng, kernel)
    loop, factor, tail = rng.choice(chosen), rng.randint(2, 4), rng.choice(_TAILS)
    rest = [n for n in chosen if n != loop]
    order = (*rest[: rng.randint(0, len(rest))], loop + "o", *rest, loop + "i")
    cut = Step("split", (loop, factor), (("tail", tail),) if tail != "guard" else ())
    return [
        cut,
        Step("reorder", tuple(dict.fromkeys(order))),
        Step("vectorize", (loop + "i",)),
        Step("parallel", (order[0],)),
    ]


def _partial_sums(rng: Random, kernel: Kernel) -> list[Step]:
    """A reduction in lanes."""
    name = shortest(kernel, rng.choice(all_loops(kernel)))
    factored = Step("rfactor", (name + "i",), (("reassoc", True),))
    return [
        Step("split", (name, rng.randint(2, 4))),
        factored,
        Step("vectorize", (name + "i",)),
        Step("vectorize", (name + "i_sum",)),
    ]


def _packed(rng: Random, kernel: Kernel) -> list[Step]:
    """An operand copied, laid out anew, and read from there."""
    kind, suffix, used = rng.choice((("cache_read", "cache", Read), ("cache_write", "tile", Store)))
    uses = _uses(kernel, used)
    if not uses:
        return [random_step(rng, kernel)]
    tensor, around = rng.choice(uses)
    buffer, loop = f"{tensor.name}_{suffix}", shortest(kernel, rng.choice(around))
    axes = list("abcdefgh"[: tensor.rank])
    parts = [part for n in axes for part in ([f"{n}/2", f"{n}%2"] if rng.random() < 0.5 else [n])]
    rng.shuffle(parts)
    return [
        Step(kind, (tensor.name, loop)),
        Step("layout", (buffer, f"{' '.join(axes)} -> {' '.join(parts)}")),
        Step("pad", (buffer, 0, 4)),
        Step("set_scope", (buffer, rng.choice(("stack", "heap")))),
    ]


def _joined(rng: Random, kernel: Kernel) -> list[Step]:
    """Two nested loops as one, in tiles, which run at once."""
    chosen = _nested(rng, kernel)
    if len(chosen) < 2:
        return [random_step(rng, kernel)]
    at = rng.randrange(len(chosen) - 1)
    outer, inner, both = *chosen[at : at + 2], "both"
    tail = rng.choice(("guard", "guard", "guard", "clip", "mask", "peel"))
    cut = Step("split", (both, rng.randint(2, 4)), (("tail", tail),) if tail != "guard" else ())
    marks = [
        Step("parallel", ("botho",)),
        Step("vectorize", ("bothi",)),
        Step("unroll", ("bothi",)),
        Step("parallel", (both,)),
    ]
    moves = [
        Step("split", ("bothi", 2)),
        Step("split", ("botho", 2)),
        Step("fuse", ("botho", "bothi")),
        Step("reorder", ("botho", *chosen[at + 2 :])),
        Step("cache_write", (_buffer(rng, kernel), "botho")),
        Step("cache_read", (rng.choice(_tensors(kernel)).name, both)),
    ]
    fused = Step("fuse", (outer, inner), (("name", both),))
    return [fused, *([cut] if rng.random() < 0.8 else []), *rng.sample(marks + moves, rng.randint(1, 4))]


_IDIOMS: Sequence[Callable[[Random, Kernel], list[Step]]] = (
    _stencil,
    _wavefront,
    _strip,
    _partial_sums,
    _packed,
    _joined,
)


def constant_extents(kernel: Kernel) -> list[int]:
    """Extents of loops that are numbers: tiles, mostly."""
    return sorted({n for loop in all_loops(kernel) if (n := integer(loop.extent)) is not None})
