"""The one way to walk and rewrite programs of both IRs. Nothing here recurses: 100,000 nested
nodes are fine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

from texpr.ir.children import GETTERS, LEAVES, children, with_children
from texpr.ir.expr import Axis, Expr, Mul, Node, Reduce, Tensor, Var
from texpr.ir.loop import ExternCall, For, If, Kernel, Stmt, Store
from texpr.ir.tensor import Equation

N = TypeVar("N", bound=Node)


def walk(*roots: Node) -> Iterator[Node]:
    """Every node below the roots and the roots themselves, parents first, shared nodes once."""
    seen: set[Node] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        kind = type(node)
        if kind not in LEAVES:
            stack += (get(node) if (get := GETTERS.get(kind)) is not None else children(node))[::-1]


def statements(*roots: Node) -> Iterator[Stmt]:
    """The statements below kernels and statements, and the roots that are some, parents first, in
    textual order. No expressions: most questions about loops and stores need none, and a kernel has
    twenty times as many.
    """
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is not Kernel and isinstance(node, Stmt):
            yield node
        if kind in _WITH_BODIES:
            stack += node.body[::-1]  # type: ignore[attr-defined]


_WITH_BODIES = frozenset({For, If, Kernel})


def postorder(*roots: Node) -> list[Node]:
    """Every node below the roots and the roots themselves, children first, shared nodes once."""
    order: dict[Node, None] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if node in order:
            continue
        if ready:
            order[node] = None
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(children(node)) if child not in order)
    return list(order)


def rewrite(
    root: N,
    rule: Callable[[Node], Node | None],
    *,
    keep: Callable[[Node], bool] | None = None,
    kinds: Collection[type] | None = None,
) -> N:
    """Apply `rule` to every node, children first, once each; None means "as it is". Untouched parts
    stay the same objects.

    Args:
        keep: a node for which it holds is left alone with all below it.
        kinds: the classes of nodes that the rule has something to say of: it is not asked about
            others.
    """
    done: dict[Node, Node] = {}
    made = done.__getitem__
    # A node comes back, with its children, once these are done.
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if type(node) is tuple:
            node, below = node
        elif node in done:
            continue
        else:
            if keep is not None and keep(node):
                done[node] = node
                continue
            below = get(node) if (get := GETTERS.get(type(node))) is not None else children(node)
            deeper = []
            for child in below:
                if child not in done:
                    if type(child) in LEAVES and keep is None:  # half of all nodes: done at once
                        changed = rule(child) if kinds is None or type(child) in kinds else None
                        done[child] = child if changed is None else changed
                    else:
                        deeper.append(child)
            if deeper:
                stack.append((node, below))
                stack += deeper
                continue
        new = tuple(map(made, below))
        rebuilt = node if new == below else with_children(node, new)
        changed = rule(rebuilt) if kinds is None or type(rebuilt) in kinds else None
        done[node] = rebuilt if changed is None else changed
    return done[root]  # type: ignore[return-value]


def factors(e: Expr) -> list[Expr]:
    """The factors of a product, in order; any other expression alone. Depth is that of the product."""
    return [*factors(e.lhs), *factors(e.rhs)] if isinstance(e, Mul) else [e]


def is_plain(node: Node) -> bool:
    """True if no statement stands inside of a node: what changes statements alone need not look
    there.
    """
    return type(node) not in _WITH_BODIES


def substitute(root: N, values: Mapping[Var, Expr]) -> N:
    """`root` with variables replaced by expressions. Bound variables are objects, so nothing is
    captured by accident.
    """
    if not values:
        return root
    return rewrite(root, values.get, kinds=_VARIABLES)  # type: ignore[arg-type]


_VARIABLES = frozenset({Var})


def variables(*roots: Node) -> set[Var]:
    """All variables used below the roots, bound ones included where they are used."""
    if len(roots) == 1:
        return set(_remembered(roots[0], "_variables", _variables))
    return set().union(*[_remembered(root, "_variables", _variables) for root in roots])


def free_variables(root: Node) -> set[Var]:
    """Variables used but not bound below `root`. A variable binds once, so none is both."""
    return variables(root) - {n.var for n in walk(root) if isinstance(n, Axis | For)}


def tensors(*roots: Node) -> dict[Tensor, None]:
    """Tensors read or written below the roots, in order of appearance."""
    return dict.fromkeys(t for root in roots for t in _remembered(root, "_tensors", _tensors))


def mentions(root: Node, tensor: Tensor) -> bool:
    """True if a tensor is read or written below a node."""
    try:
        return tensor in root._tensors  # type: ignore[attr-defined]
    except AttributeError:
        return tensor in _remembered(root, "_tensors", _tensors)


def kept_statements(root: Node) -> tuple[Stmt, ...]:
    """The statements below a kernel or statement, as `statements` gives them; those of each
    statement of a kernel's body are kept in it, since a step leaves most of them as they are.
    """
    if isinstance(root, Kernel):
        return _of_kernel(root)
    try:
        return root._statements  # type: ignore[attr-defined, no-any-return]
    except AttributeError:
        found = tuple(statements(root))
        object.__setattr__(root, "_statements", found)
        return found


def users(kernel: Kernel, *tensors: Tensor) -> list[Stmt]:
    """The statements of a kernel's body that read or write one of these tensors anywhere, in
    order.
    """
    wanted = frozenset(tensors)
    try:
        return [s for s in kernel.body if not wanted.isdisjoint(s._tensors)]
    except AttributeError:  # of a statement that is new
        for s in kernel.body:
            _remembered(s, "_tensors", _tensors)
        return [s for s in kernel.body if not wanted.isdisjoint(s._tensors)]


@lru_cache(maxsize=64)  # a step asks several times
def _of_kernel(kernel: Kernel) -> tuple[Stmt, ...]:
    return tuple(chain.from_iterable(map(kept_statements, kernel.body)))


def _remembered(root: Node, name: str, found_in: Callable[[Node, list[Any]], Any]) -> Any:
    """A property of a node, computed from the same property of its children. It is kept in the
    nodes, since a rewrite leaves most of them as they are.
    """
    try:
        return getattr(root, name)
    except AttributeError:
        pass
    stack = [root]
    while stack:
        node = stack[-1]
        below = children(node)
        missing = []
        for c in below:
            if not hasattr(c, name):
                if type(c) in LEAVES:  # half of all nodes: done at once
                    object.__setattr__(c, name, found_in(c, []))
                else:
                    missing.append(c)
        if missing:
            stack += missing
            continue
        object.__setattr__(stack.pop(), name, found_in(node, [getattr(c, name) for c in below]))
    return getattr(root, name)


def _variables(node: Node, below: list[frozenset[Var]]) -> frozenset[Var]:
    if isinstance(node, Var):
        return frozenset((node,))
    most = max(below, key=len, default=frozenset())
    return most if all([found <= most for found in below]) else most.union(*below)


def _tensors(node: Node, below: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    own = getattr(node, "tensor", None)
    if not isinstance(own, Tensor):
        if isinstance(node, ExternCall):
            return tuple(dict.fromkeys((*node.inputs, *node.outputs)))
        below = [found for found in below if found]
        if len(below) < 2:
            return below[0] if below else ()
        return tuple(dict.fromkeys(t for found in below for t in found))
    return tuple(dict.fromkeys((own, *(t for found in below for t in found))))


def equal(a: object, b: object) -> bool:
    """The same structure, up to the names of bound variables, the identity of tensors (compared by
    name), the hints of stores, where kernels are from, and the ranks of extern calls, which their
    tensors have.
    """
    partner: dict[object, object] = {}
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        if x is y and x not in partner if isinstance(x, Var) else x is y:
            continue
        if type(x) is not type(y):
            return False
        if isinstance(x, Var):
            if partner.get(x) is not y and (x in partner or x.name != y.name or x.pack != y.pack):  # type: ignore[union-attr]
                return False
        elif isinstance(x, tuple):
            if len(x) != len(y):  # type: ignore[arg-type]
                return False
            stack.extend(zip(reversed(x), reversed(y)))  # type: ignore[call-overload]
        elif isinstance(x, Axis | For):
            partner[x.var] = y.var  # type: ignore[union-attr]
            stack.extend(_field_pairs(x, y, skip=("var", "span")))
        elif isinstance(x, Reduce | Equation):
            stack.extend(_field_pairs(x, y, skip=("span", "axes")))
            stack.append((x.axes, y.axes))  # type: ignore[union-attr]
        elif hasattr(x, "__dataclass_fields__") and not _is_value(x):
            stack.extend(_field_pairs(x, y, skip=_NOT_COMPARED.get(type(x), ("span",))))
        elif str(x) != str(y) or (x != y and x == x):
            return False
    return True


_NOT_COMPARED: dict[type, tuple[str, ...]] = {
    Store: ("span", "at"),
    Kernel: ("span", "program"),
    ExternCall: ("span", "ranks"),
}


def identical(a: Node, b: Node) -> bool:
    """The same structure over the same variables and tensors, whatever those are called."""
    stack: list[tuple[object, object]] = [(a, b)]
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        if type(x) is not type(y) or isinstance(x, Var | Tensor):
            return False
        if isinstance(x, tuple):
            if len(x) != len(y):  # type: ignore[arg-type]
                return False
            stack.extend(zip(reversed(x), reversed(y)))  # type: ignore[call-overload]
        elif hasattr(x, "__dataclass_fields__") and not _is_value(x):
            stack.extend(_field_pairs(x, y, skip=("span",)))
        elif str(x) != str(y) or (x != y and x == x):
            return False
    return True


def _is_value(x: object) -> bool:
    return type(x).__eq__ is not object.__eq__


def _field_pairs(x: object, y: object, skip: tuple[str, ...]) -> list[tuple[object, object]]:
    kind = type(x)
    names = _COMPARED.get((kind, skip))
    if names is None:
        names = _COMPARED[kind, skip] = tuple(f.name for f in fields(kind) if f.name not in skip)  # type: ignore[arg-type]
    return [(getattr(x, name), getattr(y, name)) for name in names]


_COMPARED: dict[tuple[type, tuple[str, ...]], tuple[str, ...]] = {}
"""The fields of each class that are compared."""
