"""Bodies of functions in LLVM IR, statement by statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

WARP = 1 << 20
"""Places where a warp waits for itself have numbers from here on; barriers of a block have smaller ones."""


@dataclass(slots=True)
class Body:
    """Lines of a function, with names for values."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def set(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def do(self, text: str) -> None:
        self.lines.append("  " + text)

    def show(self, words: Sequence[str]) -> None:
        """This lane's words, for the others of its warp."""
        lane = self.set("call i32 @fiber_lane()")
        for k, word in enumerate(words):
            self.do(f"store i32 {word}, ptr {self.set(f'call ptr @fiber_box(i32 {lane}, i32 {k})')}")

    def read(self, lane: str, word: int, t: str = "i32") -> str:
        """A word that another lane showed."""
        return self.set(f"load {t}, ptr {self.set(f'call ptr @fiber_box(i32 {lane}, i32 {word})')}")

    def wait(self, site: int) -> None:
        self.do(f"call void @fiber_wait(i32 {WARP + site})")
