"""The templates of default schedules, in the order in which they are tried: a list for CPUs and
one for GPUs. The records of their tuned numbers.
"""

from __future__ import annotations

from texpr.autoschedule.core.cost_model import COSTS, CostModel
from texpr.autoschedule.core.template import Naive, Template
from texpr.autoschedule.cpu.collapse import CollapsedLoops
from texpr.autoschedule.cpu.common_axis import CommonAxis
from texpr.autoschedule.cpu.convolution.convolution_costs import CONVOLUTION_COSTS
from texpr.autoschedule.cpu.convolution.depthwise import DepthwiseWindow
from texpr.autoschedule.cpu.convolution.depthwise_plane import DepthwisePlane
from texpr.autoschedule.cpu.convolution.direct import DirectConvolution
from texpr.autoschedule.cpu.cpu_costs import CPU_COSTS
from texpr.autoschedule.cpu.elementwise.elementwise import VectorizedElements
from texpr.autoschedule.cpu.elementwise.elementwise_costs import ELEMENTWISE_COSTS
from texpr.autoschedule.cpu.elementwise.interleaved_stores import InterleavedStores
from texpr.autoschedule.cpu.elementwise.transpose import RegisterTranspose
from texpr.autoschedule.cpu.finishing.finishing_costs import FINISHING_COSTS
from texpr.autoschedule.cpu.finishing.row_pairs import RowPairs
from texpr.autoschedule.cpu.gemm.collapsed_rows import CollapsedRows
from texpr.autoschedule.cpu.gemm.dot_instructions import DotInstructions
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.matrix_instructions import MatrixInstructions
from texpr.autoschedule.cpu.gemm.packed import PackedGemm
from texpr.autoschedule.cpu.gemm.skinny import SkinnyGemm
from texpr.autoschedule.cpu.gemm.tile_registers import TileRegisters
from texpr.autoschedule.cpu.gemm.transposed_operand import TransposedOperand
from texpr.autoschedule.cpu.producer_chains import ProducerChains
from texpr.autoschedule.cpu.recurrence.blocked import BlockedRecurrence
from texpr.autoschedule.cpu.recurrence.recurrence_costs import RECURRENCE_COSTS
from texpr.autoschedule.cpu.recurrence.wavefront import RowsSideBySide, Wavefront
from texpr.autoschedule.cpu.reduction.reduction import LanesOverElements, LanesOverTerms
from texpr.autoschedule.cpu.reduction.reduction_costs import REDUCTION_COSTS
from texpr.autoschedule.cpu.reduction.split_reduction import SplitReduction
from texpr.autoschedule.cpu.reduction.streaming import StreamingReduction
from texpr.autoschedule.gpu.attention.attention_costs import ATTENTION_COSTS
from texpr.autoschedule.gpu.attention.flash_attention import ATTENTION
from texpr.autoschedule.gpu.colliding_updates import CollidingUpdates
from texpr.autoschedule.gpu.direct_convolution import GpuConvolution
from texpr.autoschedule.gpu.elements import AtomicUpdates, SameElements, SingleThread, ThreadElements
from texpr.autoschedule.gpu.gemm import GpuGemm, WarpGemm
from texpr.autoschedule.gpu.gpu_costs import GPU_COSTS
from texpr.autoschedule.gpu.row_reduction import RowReduction
from texpr.autoschedule.gpu.sums import CollapsedTerms, ColumnReduction, GpuSplitReduction
from texpr.autoschedule.gpu.warpgroup_gemm import WarpgroupGemm
from texpr.autoschedule.rewrites.rewrite_costs import REWRITE_COSTS

STRUCTURES: tuple[Template, ...] = (
    BlockedRecurrence(),
    TileRegisters(),
    MatrixInstructions(),
    DotInstructions(),
    SkinnyGemm(),
    StreamingReduction(),
    CollapsedRows(),
    DirectConvolution(),
    PackedGemm(),
    DepthwisePlane(),
    DepthwiseWindow(),
)
"""Sums of a known structure. They are tried once more where loops over elements were joined."""

CPU: tuple[Template, ...] = (
    ProducerChains(),
    CommonAxis(),
    InterleavedStores(),
    TransposedOperand(),
    SplitReduction(),
    *STRUCTURES,
    CollapsedLoops(again=STRUCTURES),
    LanesOverTerms(),
    LanesOverElements(),
    RegisterTranspose(),
    Wavefront(),
    RowsSideBySide(),
    VectorizedElements(),
    Naive(),
    RowPairs(),
)
"""For CPUs, stage by stage."""

GPU: tuple[Template, ...] = (
    *ATTENTION,
    WarpgroupGemm(),
    WarpGemm(),
    GpuGemm(),
    GpuConvolution(),
    CollapsedTerms(),
    GpuSplitReduction(),
    RowReduction(),
    SameElements(),
    SingleThread(),
    ColumnReduction(),
    CollidingUpdates(),
    AtomicUpdates(),
    ThreadElements(),
    Naive(),
)
"""For GPUs, stage by stage."""

COST_MODELS: tuple[CostModel, ...] = (
    COSTS,
    CPU_COSTS,
    GEMM_COSTS,
    CONVOLUTION_COSTS,
    ELEMENTWISE_COSTS,
    REDUCTION_COSTS,
    RECURRENCE_COSTS,
    FINISHING_COSTS,
    GPU_COSTS,
    ATTENTION_COSTS,
    REWRITE_COSTS,
)
"""All records of tuned numbers, as `docs/developer/costs.md` has them."""
