"""Bodies of functions in LLVM IR, statement by statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

WARP = 1 << 20
"""Places where a warp waits for itself have numbers from here on; barriers of a block have
smaller ones.
"""


@dataclass(slots=True)
class Body:
    """Lines of a function, with names for values."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def assign(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def emit(self, text: str) -> None:
        self.lines.append("  " + text)

    def publish(self, words: Sequence[str]) -> None:
        """This lane's words, for the others of its warp."""
        lane = self.assign("call i32 @fiber_lane()")
        for k, word in enumerate(words):
            self.emit(f"store i32 {word}, ptr {self.assign(f'call ptr @fiber_box(i32 {lane}, i32 {k})')}")

    def read_lane(self, lane: str, word: int, t: str = "i32") -> str:
        """A word that another lane showed."""
        return self.assign(f"load {t}, ptr {self.assign(f'call ptr @fiber_box(i32 {lane}, i32 {word})')}")

    def barrier(self, site: int) -> None:
        self.emit(f"call void @fiber_wait(i32 {WARP + site})")
