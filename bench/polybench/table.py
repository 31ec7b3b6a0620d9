"""The kernels: their sizes, inputs, and what of the C loops is compared with what of the operators.

Sizes are those of PolyBench 4.2 (mini, small, large), but gramschmidt's M and N change places: a
matrix with more columns than rows has no orthonormal columns, and what is left of the last ones
would be rounding errors. Types are PolyBench's: f64, but f32 in deriche and i32 in floyd-warshall
and nussinov. The second array of a sweep between two starts as a copy of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.polybench.inputs import MAKERS

FOLDER = Path(__file__).parent / "kernels"
DATASETS = ("mini", "small", "large")
Arrays = dict[str, np.ndarray]
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Kernel:
    """One kernel of PolyBench.

    Attributes:
        name: as in PolyBench, and of the files in `kernels/`.
        sizes: names of the sizes and constants, in the order of the numbers in `mini`, `small` and
            `large`.
        inputs: those of the operator, in its order, as `name:shape=maker` (`inputs.MAKERS`).
        results: the arrays of the C function that hold the operator's outputs, in their order.
        beside: further arrays that the C function takes after the inputs: zeros as `name:shape`, or
            a copy of an input as `name=input`.
        flops: operations on floats, of which the least time is computed; 0 for kernels on integers.
        dtype: of numbers, and of the arrays of zeros.
        folded: recurrences of which the schedule keeps the last few elements of the first
            dimension, because all would not fit in memory.
    """

    name: str
    sizes: str
    mini: tuple[int, ...]
    small: tuple[int, ...]
    large: tuple[int, ...]
    inputs: str
    results: str
    beside: str = ""
    flops: str = "0"
    dtype: str = "f8"
    folded: str = ""

    def dataset(self, which: str) -> dict[str, int]:
        """Sizes by name."""
        return dict(zip(self.sizes.split(), getattr(self, which), strict=True))

    def work(self, sizes: Sizes) -> float:
        """Operations on floats at these sizes."""
        return float(eval(self.flops, {"__builtins__": {}}, dict(sizes)))

    def operands(self, sizes: Sizes) -> Arrays:
        """Inputs of the operator, the same in every process; numbers are arrays without
        dimensions.
        """
        random = np.random.default_rng(0)
        made = {}
        for text in self.inputs.split():
            declared, _, maker = text.partition("=")
            name, _, shape = declared.partition(":")
            made[name] = np.asarray(MAKERS[maker](random, _shape(shape, sizes)))
        return {name: a if a.ndim else a.astype(self.dtype) for name, a in made.items()}

    def arguments(self, sizes: Sizes, operands: Arrays) -> Arrays:
        """Copies of all that the C function takes, in its order, as it begins."""
        arguments = {name: a.copy() for name, a in operands.items()}
        for text in self.beside.split():
            declared, _, source = text.partition("=")
            name, _, shape = declared.partition(":")
            arguments[name] = (
                operands[source].copy() if source else np.zeros(_shape(shape, sizes), self.dtype)
            )
        return arguments


def _shape(text: str, sizes: Sizes) -> tuple[int, ...]:
    return tuple(sizes[name] for name in text.split(",")) if text else ()


DATA_MINING = (
    Kernel(
        "correlation",
        "M N",
        (28, 32),
        (80, 100),
        (1200, 1400),
        "data:N,M",
        "corr",
        "corr:M,M mean:M dev:M",
        "M*M*N",
    ),
    Kernel(
        "covariance", "M N", (28, 32), (80, 100), (1200, 1400), "data:N,M", "cov", "cov:M,M mean:M", "M*M*N"
    ),
)
BLAS = (
    Kernel(
        "gemm",
        "NI NJ NK",
        (20, 25, 30),
        (60, 70, 80),
        (1000, 1100, 1200),
        "alpha=1.5 beta=1.2 C:NI,NJ A:NI,NK B:NK,NJ",
        "C",
        flops="2*NI*NJ*NK",
    ),
    Kernel(
        "gemver",
        "N",
        (40,),
        (120,),
        (2000,),
        "alpha=1.5 beta=1.2 A:N,N u1:N v1:N u2:N v2:N y:N z:N",
        "A x w",
        "x:N w:N",
        "8*N*N",
    ),
    Kernel(
        "gesummv", "N", (30,), (90,), (1300,), "alpha=1.5 beta=1.2 A:N,N B:N,N x:N", "y", "y:N tmp:N", "4*N*N"
    ),
    Kernel(
        "symm",
        "M N",
        (20, 30),
        (60, 80),
        (1000, 1200),
        "alpha=1.5 beta=1.2 C:M,N A:M,M B:M,N",
        "C",
        flops="2*M*M*N",
    ),
    Kernel(
        "syrk", "M N", (20, 30), (60, 80), (1000, 1200), "alpha=1.5 beta=1.2 C:N,N A:N,M", "C", flops="N*N*M"
    ),
    Kernel(
        "syr2k",
        "M N",
        (20, 30),
        (60, 80),
        (1000, 1200),
        "alpha=1.5 beta=1.2 C:N,N A:N,M B:N,M",
        "C",
        flops="2*N*N*M",
    ),
    Kernel("trmm", "M N", (20, 30), (60, 80), (1000, 1200), "alpha=1.5 A:M,M B:M,N", "B", flops="M*M*N"),
)
PRODUCTS = (
    Kernel(
        "2mm",
        "NI NJ NK NL",
        (16, 18, 22, 24),
        (40, 50, 70, 80),
        (800, 900, 1100, 1200),
        "alpha=1.5 beta=1.2 A:NI,NK B:NK,NJ C:NJ,NL D:NI,NL",
        "D",
        "tmp:NI,NJ",
        "2*NI*NJ*(NK + NL)",
    ),
    Kernel(
        "3mm",
        "NI NJ NK NL NM",
        (16, 18, 20, 22, 24),
        (40, 50, 60, 70, 80),
        (800, 900, 1000, 1100, 1200),
        "A:NI,NK B:NK,NJ C:NJ,NM D:NM,NL",
        "G",
        "E:NI,NJ F:NJ,NL G:NI,NL",
        "2*NJ*(NI*NK + NM*NL + NI*NL)",
    ),
    Kernel("atax", "M N", (38, 42), (116, 124), (1900, 2100), "A:M,N x:N", "y", "y:N tmp:M", "4*M*N"),
    Kernel("bicg", "M N", (38, 42), (116, 124), (1900, 2100), "A:N,M p:M r:N", "s q", "s:M q:N", "4*M*N"),
    Kernel("mvt", "N", (40,), (120,), (2000,), "A:N,N x1:N x2:N y1:N y2:N", "x1 x2", flops="4*N*N"),
    Kernel(
        "doitgen",
        "NQ NR NP",
        (8, 10, 12),
        (20, 25, 30),
        (140, 150, 160),
        "A:NR,NQ,NP C:NP,NP",
        "A",
        flops="2*NR*NQ*NP*NP",
    ),
)
SOLVERS = (
    Kernel("cholesky", "N", (40,), (120,), (2000,), "A:N,N=definite", "A", flops="N**3 / 3"),
    Kernel("durbin", "N", (40,), (120,), (2000,), "r:N=decaying", "y", "y:N", "2*N*N", folded="z"),
    Kernel(
        "gramschmidt",
        "N M",
        (20, 30),
        (60, 80),
        (1000, 1200),
        "A:M,N",
        "R Q",
        "R:N,N Q:M,N",
        "2*M*N*N",
        folded="V",
    ),
    Kernel("lu", "N", (40,), (120,), (2000,), "A:N,N=dominant", "A", flops="2*N**3 / 3"),
    Kernel("ludcmp", "N", (40,), (120,), (2000,), "A:N,N=dominant b:N", "A y x", "y:N x:N", "2*N**3 / 3"),
    Kernel("trisolv", "N", (40,), (120,), (2000,), "L:N,N=dominant b:N", "x", "x:N", "N*N"),
)
MEDLEY = (
    Kernel(
        "deriche",
        "W H",
        (64, 64),
        (192, 128),
        (4096, 2160),
        "alpha=0.25 image:W,H=picture",
        "out",
        "out:W,H y1:W,H y2:W,H",
        "30*W*H",
        "f4",
    ),
    Kernel("floyd-warshall", "N", (60,), (180,), (2800,), "path:N,N=distances", "path", folded="P"),
    Kernel("nussinov", "N", (60,), (180,), (2500,), "seq:N=bases", "table", "table:N,N", dtype="i4"),
)
STENCILS = (
    Kernel(
        "adi",
        "TSTEPS N",
        (20, 20),
        (40, 60),
        (500, 1000),
        "U:N,N=positive",
        "U",
        "v:N,N p:N,N q:N,N",
        "30*TSTEPS*(N - 2)**2",
        folded="u v p q r s",
    ),
    Kernel(
        "fdtd-2d",
        "TMAX NX NY",
        (20, 20, 30),
        (40, 60, 80),
        (500, 1000, 1200),
        "ex:NX,NY=positive ey:NX,NY=positive hz:NX,NY=positive source:TMAX=counting",
        "ex ey hz",
        flops="11*TMAX*NX*NY",
        folded="x y z",
    ),
    Kernel(
        "heat-3d",
        "TSTEPS N",
        (20, 10),
        (40, 20),
        (500, 120),
        "A:N,N,N=positive",
        "A",
        "B=A",
        "30*TSTEPS*(N - 2)**3",
        folded="U",
    ),
    Kernel(
        "jacobi-1d",
        "TSTEPS N",
        (20, 30),
        (40, 120),
        (500, 2000),
        "A:N=positive",
        "A",
        "B=A",
        "6*TSTEPS*(N - 2)",
        folded="U",
    ),
    Kernel(
        "jacobi-2d",
        "TSTEPS N",
        (20, 30),
        (40, 90),
        (500, 1300),
        "A:N,N=positive",
        "A",
        "B=A",
        "10*TSTEPS*(N - 2)**2",
        folded="U",
    ),
    Kernel(
        "seidel-2d",
        "TSTEPS N",
        (20, 40),
        (40, 120),
        (500, 2000),
        "A:N,N=positive",
        "A",
        flops="9*TSTEPS*(N - 2)**2",
        folded="U",
    ),
)
KERNELS = {kernel.name: kernel for kernel in (*DATA_MINING, *BLAS, *PRODUCTS, *SOLVERS, *MEDLEY, *STENCILS)}
