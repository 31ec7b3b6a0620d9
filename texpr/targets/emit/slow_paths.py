"""Outlining of slow paths: long expressions that are almost never needed."""

from __future__ import annotations

from texpr.ir.expr import Const, Expr, Read, Var
from texpr.ir.traverse import children
from texpr.targets.emit.function import Function, Scoped, Value
from texpr.targets.emit.memory_access import Accesses


class SlowPaths(Accesses):
    """Adds outlined functions.

    Attributes:
        cold_calling_convention: of slow paths.
        functions: the text of the functions that a kernel has beside its body.
        slow_paths: the name of each slow path, by its text.
    """

    cold_calling_convention = ""

    def __init__(self) -> None:
        super().__init__()
        self.functions: list[str] = []
        self.slow_paths: dict[str, str] = {}

    def outlined_slow_path(self, e: Expr) -> Value:
        """Outline the evaluation of `e` into a separate function, which is not inlined.

        Slow paths, such as the argument reduction of very large angles, are long and almost never
        taken. Expressions that differ by their operands alone share a function. Its calling
        convention may preserve vector registers, so that constants of the loop around stay live
        across the call.
        """
        given: dict[int, tuple[Expr, Value]] = {}
        stack, seen = [e], set()
        while stack:
            node = stack.pop()
            if id(node) in seen or isinstance(node, Const):
                continue
            seen.add(id(node))
            value = self._known(node)
            if value is not None:
                given[id(node)] = node, value
            elif isinstance(node, Read):
                return super().outlined_slow_path(e)
            else:
                stack += [c for c in children(node) if isinstance(c, Expr)]
        if any(isinstance(node, Var) for node, _ in given.values()):
            return super().outlined_slow_path(e)
        return self._call_slow_path(e, given)

    def slow_path_attributes(self, result: Value) -> str:
        """Function attributes of a slow path."""
        return "noinline"

    def _call_slow_path(self, e: Expr, given: dict[int, tuple[Expr, Value]]) -> Value:
        outer = self.function, self.known, self.mask
        parameters = [Value(f"%p{k}", v.dtype, v.lanes) for k, (_, v) in enumerate(given.values())]
        self.function, self.mask = Function(""), None
        self.known = Scoped({key: (node, p) for (key, (node, _)), p in zip(given.items(), parameters)})
        result = self.value(e)
        head = f"({', '.join(map(str, parameters))}) {self.slow_path_attributes(result)} #0 {{"
        lines = "\n".join([head, "entry:", *self.function.lines, f"  ret {result}", "}"])
        self.function, self.known, self.mask = outer
        text = f"{result.type} @{{}}{lines}"
        name = self.slow_paths.get(text)
        if name is None:
            name = self.slow_paths[text] = f"rare{len(self.slow_paths)}"
            self.functions.append(
                f"define internal {self.cold_calling_convention} {result.type} @{name}{lines}"
            )
        arguments = ", ".join(str(v) for _, v in given.values())
        return self._pure(
            f"call {self.cold_calling_convention} {result.type} @{name}({arguments})",
            result.dtype,
            result.lanes,
        )
