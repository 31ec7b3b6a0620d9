"""Tile registers (AMX), 16 rows of 64 bytes: instructions that multiply tiles, and that move
operands to them and sums back.

Buffers of scope `tile` are such registers, of which there are eight. How many rows and bytes they
have is loaded in front of the outermost loop that uses them, and they are given back where the
function ends. Which element is where:

    sums            C[i, j]        row i, column j of 4 bytes
    left operand    A[i, g, k]     row i, column g, place k in it
    right operand   B[g, j, k]     row g, column j, place k in it

A column has a group g of terms: two of bf16, four of bytes.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18
(Programming with Intel AMX), 2023.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from texpr.ir.affine import Linear
from texpr.ir.build import integer, product
from texpr.ir.dtypes import DTYPES
from texpr.ir.expr import Expr, Tensor, Var, index
from texpr.ir.instructions import INSTRUCTIONS, Instruction
from texpr.ir.loop import Alloc, ExternCall, For, If, Kernel, Stmt, instruction_of
from texpr.ir.loop_kind import PARALLEL, InstructionNest
from texpr.ir.traverse import statements, tensors
from texpr.passes.analysis.match_nest import Match, instance
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import folded
from texpr.support.errors import CompileError
from texpr.support.frozen_dataclass import frozen
from texpr.targets.common.instruction_names import TILE_REGISTERS
from texpr.targets.emit.function import Value
from texpr.targets.emit.statements import Emitter

TILE_ROWS = 16
TILE_BYTES = 1024
"""Bytes of a tile."""
_COLUMN_BYTES = 4
"""Bytes of a column."""


@frozen
class _Zero:
    """Sets a tile of sums to 0."""


@frozen
class _Move:
    """A tile between memory and its register, row by row.

    Attributes:
        call: the intrinsic.
        tile, memory: the operands of the instruction's meaning that are there.
        row: its loop over the rows.
    """

    call: str
    tile: str
    memory: str
    row: str


@frozen
class _Product:
    """Sums of products of two tiles."""

    call: str


def _define(name: str, text: str, emit: object, tiles: str, *, flushes_denormals: bool = False) -> None:
    INSTRUCTIONS[name] = Instruction(
        name, text, emit, flushes_denormals=flushes_denormals, tiles=frozenset(tiles)
    )


def _define_sum_tiles(t: str) -> None:
    zero = "0.0" if t == "f32" else "0"
    _define(
        f"tilezero_{t}",
        f"""kernel tilezero_{t}() -> (C: {t}[{TILE_ROWS}, {TILE_ROWS}])
  for i in 0..{TILE_ROWS}
    for j in 0..{TILE_ROWS}
      C[i, j] = {zero}
""",
        _Zero(),
        "C",
    )
    _define(
        f"tilestored_{t}",
        f"""kernel tilestored_{t}(A: {t}[{TILE_ROWS}, {TILE_ROWS}]) -> (C: {t}[{TILE_ROWS}, P])
  for i in 0..{TILE_ROWS}
    for j in 0..{TILE_ROWS}
      C[i, j] = A[i, j]
""",
        _Move("llvm.x86.tilestored64", "A", "C", "i"),
        "A",
    )


def _define_tile_loads(t: str) -> None:
    """Instructions that move tiles: rows, of operands also groups of terms of rows beside each
    other.
    """
    group = _COLUMN_BYTES // DTYPES[t].bytes
    _define(
        f"tileloadd_{t}",
        f"""kernel tileloadd_{t}(A: {t}[{TILE_ROWS}, P]) -> (B: {t}[{TILE_ROWS}, {TILE_ROWS * group}])
  for i in 0..{TILE_ROWS}
    for k in 0..{TILE_ROWS * group}
      B[i, k] = A[i, k]
""",
        _Move("llvm.x86.tileloadd64", "B", "A", "i"),
        "B",
    )
    if group == 1:
        return
    _define(
        f"tileloadd_groups_{t}",
        f"""kernel tileloadd_groups_{t}(A: {t}[{TILE_ROWS}, P, {group}]) -> (B: {t}[{TILE_ROWS}, {TILE_ROWS}, {group}])
  for g in 0..{TILE_ROWS}
    for j in 0..{TILE_ROWS}
      for k in 0..{group}
        B[g, j, k] = A[g, j, k]
""",
        _Move("llvm.x86.tileloadd64", "B", "A", "g"),
        "B",
    )


def _define_tile_product(name: str, left: str, right: str, total: str) -> None:
    group = _COLUMN_BYTES // DTYPES[left].bytes
    _define(
        name,
        f"""kernel {name}(A: {left}[{TILE_ROWS}, {TILE_ROWS}, {group}], B: {right}[{TILE_ROWS}, {TILE_ROWS}, {group}]) -> (C: {total}[{TILE_ROWS}, {TILE_ROWS}])
  for i in 0..{TILE_ROWS}
    for j in 0..{TILE_ROWS}
      for g in 0..{TILE_ROWS}
        for k in 0..{group}
          C[i, j] += {total}(A[i, g, k]) * {total}(B[g, j, k])  reassoc
""",
        _Product(f"llvm.x86.{name}"),
        "ABC",
        flushes_denormals=total == "f32",
    )


for _t in ("f32", "i32"):
    _define_sum_tiles(_t)
for _t in ("f32", "i32", "bf16", "i8", "u8"):
    _define_tile_loads(_t)
_define_tile_product("tdpbf16ps", "bf16", "bf16", "f32")
_define_tile_product("tdpbssd", "i8", "i8", "i32")
_define_tile_product("tdpbsud", "i8", "u8", "i32")
_define_tile_product("tdpbusd", "u8", "i8", "i32")
_define_tile_product("tdpbuud", "u8", "u8", "i32")

PERMISSION_CHECK = """declare i64 @syscall(i64, ...)
@tx_permitted = internal global i8 0
define internal i1 @tx_fits() noinline nounwind {
entry:
  %known = load atomic i8, ptr @tx_permitted monotonic, align 1
  %asked = icmp ne i8 %known, 0
  br i1 %asked, label %end, label %ask
ask:
  %failed = call i64 (i64, ...) @syscall(i64 158, i64 4131, i64 18)
  %given = icmp eq i64 %failed, 0
  %noted = zext i1 %given to i8
  store atomic i8 %noted, ptr @tx_permitted monotonic, align 1
  br label %end
end:
  %fits = phi i1 [ true, %entry ], [ %given, %ask ]
  ret i1 %fits
}"""
"""A function that returns true if Linux lets this process use tiles, which it is asked until it
does: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). It does not where the processor has none.
"""

_TILE_CONFIGURATION = b"".join(
    (
        bytes([1]).ljust(16, b"\0"),
        bytes([TILE_ROWS * _COLUMN_BYTES, 0] * TILE_REGISTERS).ljust(32, b"\0"),
        bytes([TILE_ROWS] * TILE_REGISTERS).ljust(16, b"\0"),
    )
)
"""The tile configuration: the palette; of each register the bytes of a row, and its rows."""


def uses_tiles(kernel: Kernel) -> bool:
    """True if a kernel needs a processor that has tiles."""
    return any(isinstance(n, For) and _instruction(n) is not None for n in statements(kernel))


def _instruction(loop: For) -> _Zero | _Move | _Product | None:
    """The tile instruction that a loop stands for; None of another one."""
    known = INSTRUCTIONS.get(instruction_of(loop)) if isinstance(loop.kind, InstructionNest) else None
    return known.emit if known is not None and isinstance(known.emit, _Zero | _Move | _Product) else None


class AmxEmitter(Emitter):
    """Adds tile registers.

    `tiles` has the first register of each buffer, `single_iterations` the variables of loops with one
    iteration. `configured` is true if the registers are configured wherever code goes on from here:
    code of other threads, some of which runs on this one, releases them.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.tiles: dict[Tensor, int] = {}
        self.single_iterations: dict[Var, Expr] = {}
        self.configured = False
        outer = _tile_buffers(kernel.temporaries)
        _check_not_clobbered(kernel.body, outer)
        _assign_registers(kernel.body, outer, frozenset(), self.tiles)

    def condition(self, cond: Expr, body: tuple[Stmt, ...]) -> None:
        before = self.configured
        super().condition(cond, body)
        self.configured = before and not _clobbers_tiles(body)

    def loop(self, loop: For) -> None:
        instruction = _instruction(loop)
        if instruction is None:
            super().loop(loop)
        else:
            self._tile_instruction(instruction, instruction_of(loop), instance(instruction_of(loop), loop))

    def _serial(self, loop: For, first: Value, stop: Value) -> None:
        others = _clobbers_tiles(loop.body)
        if (
            not self.configured
            and not others
            and any(isinstance(n, Alloc) and n.tensor.scope == "tile" for n in statements(*loop.body))
        ):
            self._configure()
        before = self.configured
        if integer(loop.extent) == 1:
            self.single_iterations[loop.var] = index(0)
        super()._serial(loop, first, stop)
        self.configured = before and not others

    def _parallel(self, loop: For) -> None:
        self.configured = False
        super()._parallel(loop)
        self.configured = False

    def on_stack(self, tensor: Tensor) -> bool:
        return tensor.scope == "tile" or super().on_stack(tensor)

    def allocate(self, tensor: Tensor) -> None:
        if tensor.scope != "tile":
            super().allocate(tensor)
            return
        if not self.configured:
            self._configure()

    def _configure(self) -> None:
        text = "".join(f"\\{byte:02X}" for byte in _TILE_CONFIGURATION)
        self.declared["tx_tiles"] = (
            f'@tx_tiles = internal constant [{len(_TILE_CONFIGURATION)} x i8] c"{text}", align 64'
        )
        self.intrinsic("llvm.x86.ldtilecfg", "void", "ptr @tx_tiles")
        self.declared["llvm.x86.tilerelease"] = "declare void @llvm.x86.tilerelease()"
        release = "  call void @llvm.x86.tilerelease()"
        if release not in self.function.epilogue:
            self.function.epilogue.append(release)
        self.configured = True

    def _tile_instruction(self, instruction: _Zero | _Move | _Product, name: str, match: Match) -> None:
        match instruction:
            case _Zero():
                self.intrinsic("llvm.x86.tilezero", "void", self._register(name, match, "C"))
            case _Product(call):
                self.intrinsic(call, "void", *(self._register(name, match, operand) for operand in "CAB"))
            case _Move(call, tile, memory, row):
                tensor, indices = match.operands[memory]
                if tensor.scope == "tile":
                    raise CompileError(
                        f"{name} has one side in memory, and {tensor.name} is in a tile",
                        code="target",
                        help=f'set_scope("{tensor.name}", "stack")',
                    )
                first, size = self._position(match, memory, {}), tensor.dtype.bytes
                apart = self._position(match, memory, {row: 1}).plus(first, -1)
                stride = self.position(
                    Linear(tuple((t, c * size) for t, c in apart.terms), apart.constant * size)
                )
                address, _, _ = self.address(
                    tensor, tuple(folded(i, _loop_values(match, {})) for i in indices)
                )
                self.intrinsic(call, "void", self._register(name, match, tile), f"ptr {address}", str(stride))

    def _register(self, name: str, match: Match, operand: str) -> str:
        """The register of an operand."""
        tensor = match.operands[operand][0]
        first = self.tiles.get(tensor)
        if first is None:
            raise CompileError(
                f"{name} takes {tensor.name} from a tile",
                code="target",
                help=f'cache_read("{tensor.name}", ...) makes a buffer, set_scope(..., "tile") puts it there',
            )
        place = self._position(match, operand, {})
        tile, rest = divmod(place.constant * tensor.dtype.bytes, TILE_BYTES)
        if place.terms or rest:
            raise CompileError(
                f"which tile of {tensor.name} {name} takes is not known when code is made",
                code="set_scope",
                help="unroll the loops around it; layout puts tiles beside each other",
            )
        return f"i8 {first + tile}"

    def _position(self, match: Match, operand: str, places: Mapping[str, int]) -> Linear:
        """Position of an operand's element in its tensor: the first one, or that at other places of
        the instruction's loops.
        """
        tensor, indices = match.operands[operand]
        return flat_index(
            tensor,
            tuple(folded(i, {**self.single_iterations, **_loop_values(match, places)}) for i in indices),
        )


def _tile_buffers(buffers: Iterable[Tensor]) -> tuple[Tensor, ...]:
    return tuple(t for t in buffers if t.scope == "tile")


def _assign_registers(
    body: tuple[Stmt, ...], outer: tuple[Tensor, ...], taken: frozenset[int], found: dict[Tensor, int]
) -> None:
    """Tile registers for the buffers of a body, besides those in `taken`, each from the first
    statement that uses it to the last one.

    Args:
        taken: registers that hold something from before the body until after it.
        found: the first register of each buffer; added to.
    Raises:
        CompileError: there are not as many.
    """
    own = (*outer, *_tile_buffers(s.tensor for s in body if isinstance(s, Alloc)))
    uses = [frozenset() if isinstance(s, Alloc) or not own else frozenset(tensors(s)) for s in body]
    live: dict[Tensor, frozenset[int]] = {}
    for k, s in enumerate(body):
        for t in own:
            if t in uses[k] and t not in found:
                live[t] = _free_registers(t, taken.union(*live.values()))
                found[t] = min(live[t])
        if isinstance(s, For | If):
            _assign_registers(s.body, (), taken.union(*live.values()), found)
        live = {t: registers for t, registers in live.items() if any(t in used for used in uses[k + 1 :])}


def _free_registers(tensor: Tensor, taken: frozenset[int]) -> frozenset[int]:
    """Consecutive tile registers for a buffer."""
    size = (integer(product(tensor.shape)) or 0) * tensor.dtype.bytes
    count = size // TILE_BYTES
    runs = (frozenset(range(k, k + count)) for k in range(TILE_REGISTERS - count + 1))
    first = next((run for run in runs if not run & taken), None) if count and size % TILE_BYTES == 0 else None
    if first is None:
        others = (
            f", others have {len(taken)} of {TILE_REGISTERS}" if taken else f"; there are {TILE_REGISTERS}"
        )
        raise CompileError(
            f"{tensor.name} needs {size} bytes of tiles, which have {TILE_BYTES} each{others}",
            code="set_scope",
            help="use fewer, whole tiles at a time",
        )
    return first


def _clobbers_tiles(body: tuple[Stmt, ...]) -> bool:
    """True if code runs here that has the registers for itself: loops shared among threads,
    operators of others.
    """
    return any(
        isinstance(n, ExternCall) or (isinstance(n, For) and n.kind == PARALLEL) for n in statements(*body)
    )


def _check_not_clobbered(body: tuple[Stmt, ...], tiles: tuple[Tensor, ...]) -> None:
    """Refuse code that uses tile registers of its own while buffers are in tiles.

    Raises:
        CompileError: threads are started meanwhile, or another operator called.
    """
    here = (*tiles, *_tile_buffers(s.tensor for s in body if isinstance(s, Alloc)))
    if here and _clobbers_tiles(body):
        raise CompileError(
            f"{here[0].name} is in a tile while other threads or operators run, which do not keep it",
            code="set_scope",
            help="make the loop parallel that stands around it",
        )
    for s in body:
        if isinstance(s, For | If):
            _check_not_clobbered(s.body, ())


def _loop_values(match: Match, places: Mapping[str, int]) -> dict[Var, Expr]:
    return {w: index(places.get(v.name, 0)) for v, w in match.loops.items()}
