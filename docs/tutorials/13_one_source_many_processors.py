# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # One source, many processors
#
# **Claim:** one operator and one schedule become vector code for x86 and for AArch64, and the same
# tiles, bound to threads, become a GPU kernel. Processors differ in data: the width and the number
# of their registers, and their instructions.
#
# {{result}}
#
# You have scheduled by hand ([Eight steps](03_eight_steps_to_a_fast_product.ipynb)). You need
# `pip install texpr[notebook]`. Where QEMU and a cross compiler are installed, the code for AArch64
# runs, too (on Debian: `apt install qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross`). No GPU
# is needed.

# %%
import re
import shutil

import matplotlib.pyplot as plt
import numpy as np

import texpr as tx

# %% tags=["setup"]
import os

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # smaller matrices: for tests
N = 64 if FAST else 256
PRODUCT = re.compile(r"(vfn?madd|vmulps|fmla|fmul|fma\.rn|mma)")
LOAD = re.compile(r"(v?mov[au]|vbroadcast|ldp|ldr|ldur|ld1|vld|vldm)")
LABEL = re.compile(r"([.$]L\w+):")
JUMP = re.compile(r"\b(?:j\w+|b\.?\w*|@%p\d+ bra\w*|cbnz)\s.*?([.$]L\w+);?\s*$")


def products(loop: list[str]) -> int:
    """Number of instructions of a loop that multiply."""
    return sum(bool(PRODUCT.match(line)) for line in loop)


def inner_loop(assembly: str) -> list[str]:
    """The instructions of the loop, without a loop inside, that has most products."""
    lines, labels, loops = assembly.splitlines(), {}, [[]]
    for at, line in enumerate(lines):
        label, jump = LABEL.match(line), JUMP.search(line)
        if label:
            labels[label[1]] = at
        elif jump and jump[1] in labels:
            body = lines[labels[jump[1]] + 1 : at + 1]
            if not any(LABEL.match(inside) for inside in body):
                loops.append(
                    [
                        each.strip().expandtabs(8)
                        for each in body
                        if re.match(r"\t[^.#/]", each)
                    ]
                )
    return max(loops, key=products)


# %% [markdown]
# ## 1. One schedule
#
# A tile of 4 rows and 16 columns: its 64 sums stay in registers while `k` runs. Nothing in it names
# a processor.

# %%
matmul = tx.op("""
op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {
  C[i, j] = sum(k: A[i, k] * B[k, j])
}
""")
TILES = """
allow_fma()
split("i", 4, tail="exact")
split("j", 16, tail="exact")
"""
LANES = """
reorder("io", "jo", "k", "ii", "ji")
unroll("ii")
vectorize("ji")
"""
schedule = tx.schedule(matmul, M=N, K=N, N=N).replay(TILES + LANES)
print(schedule)

# %% [markdown]
# The proof that these loops compute the operator is made once. It does not depend on the processor.

# %%
print(schedule.certificate())

# %% [markdown]
# ## 2. Two instruction sets
#
# The loop over `k` in the assembly for x86-64-v3:

# %%
kernels = {name: schedule.compile(name) for name in ("x86-64-v3", "aarch64")}
loops = {name: inner_loop(kernel.asm) for name, kernel in kernels.items()}
print("\n".join(loops["x86-64-v3"]))

# %% [markdown]
# x86-64-v3 has registers of 8 floats. Two of them hold the 16 columns, and `vbroadcastss` gives a
# number of `A` to all lanes.
#
# AArch64 has registers of 4 floats, and 32 of them. Four hold the columns, and `fmla` takes the
# number of `A` from a lane of a register:

# %%
print("\n".join(loops["aarch64"]))

# %% [markdown]
# Both compute the product. Where QEMU is installed, the code for AArch64 runs in it: slowly, and
# true to the instruction set.

# %%
generator = np.random.default_rng(0)
A, B = (generator.random((N, N), np.float32) for _ in range(2))
expected = A.astype(np.float64) @ B
results = {"native": schedule.compile("native")(A, B)}
if shutil.which("qemu-aarch64") and shutil.which("aarch64-linux-gnu-gcc"):
    results["aarch64"] = kernels["aarch64"].emulate(A, B)
for name, found in results.items():
    print(
        f"{name:8} largest relative difference: "
        f"{np.abs(found / expected - 1).max():.1e}"
    )
if "aarch64" in results:
    print("the same bits:", np.array_equal(results["native"], results["aarch64"]))

# %% [markdown]
# The order of every sum is in the schedule, and both processors round a product and its sum once.
# Therefore the bits are the same.
#
# ## 3. A GPU
#
# The same tiles. In place of vectors and threads of a CPU, tiles go to blocks and their elements to
# threads. Only the last lines of the script differ.

# %%
THREADS = """
reorder("io", "jo", "ii", "ji", "k")
bind("io", "block.y")
bind("jo", "block.x")
bind("ii", "thread.y")
bind("ji", "thread.x")
"""
bound = tx.schedule(matmul, M=N, K=N, N=N).replay(TILES + THREADS)
gpu = bound.compile("sm_80")
print(bound)
print("\n".join(inner_loop(gpu.ptx)))

# %% [markdown]
# Each thread computes one element; `fma.rn` is the product. No GPU is needed: here one fiber for
# each of its threads runs the same code on the CPU.

# %%
few = tx.schedule(matmul, M=16, K=16, N=32).replay(bound.script()).compile("sm_80")
a, b = A[:16, :16].copy(), B[:16, :32].copy()
gpu_error = np.abs(few.emulate(a, b) - a.astype(np.float64) @ b).max()
print(f"largest difference: {gpu_error:.1e}")
assert gpu_error < 1e-5

# %% [markdown]
# ## 4. The machine's record in `auto()`
#
# The default schedule reads a record of the machine and no processor's name. Here the records ask
# for tiles of different shapes. On AArch64 rows are copied so that a register takes four of them,
# and each product takes a lane. The length of a loop does not matter, but the share of products in
# it does.

# %%
KINDS = ("products", "loads", "others")
mixes = {}
for name in ("x86-64-v3", "x86-64-v4", "aarch64", "armv7"):
    kernel = tx.schedule(matmul, M=512, K=512, N=512).auto(name).compile(name)
    loop = inner_loop(kernel.asm.replace("vmla.f32", "fmla"))
    count = products(loop)
    loads = sum(bool(LOAD.match(line)) for line in loop)
    mixes[name] = np.array([count, loads, len(loop) - count - loads]) / len(loop)
    print(
        f"{name:10} {len(loop):4} instructions, {mixes[name][0]:.0%} of them products"
    )

figure, axes = plt.subplots(figsize=(7, 2.6))
left = np.zeros(len(mixes))
colors = ("tab:green", "tab:blue", "lightgray")
for kind, color, shares in zip(KINDS, colors, zip(*mixes.values())):
    axes.barh(list(mixes), shares, left=left, color=color, label=kind)
    left += shares
axes.set_xlabel("share of the instructions of the inner loop of a 512 x 512 product")
axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.25), ncols=3, frameon=False)
axes.invert_yaxis()
figure.tight_layout()
plt.show()

# %% [markdown]
# On x86 many products take an operand from memory, so a loop needs few loads. AArch64 loads pairs
# of registers. armv7, with 16 registers, keeps fewer sums.
#
# ## 5. The claim

# %% tags=["result"]
ran = [
    f"{name} differs by {np.abs(each / expected - 1).max():.0e}"
    for name, each in results.items()
]
same = ["the bits of both are equal"] if "aarch64" in results else []
print(
    f"one schedule: {', '.join([*ran, *same])}, its threads on an emulated GPU by "
    f"{gpu_error:.0e}; products are {min(m[0] for m in mixes.values()):.0%} to "
    f"{max(m[0] for m in mixes.values()):.0%} of the inner loops of auto()"
)
print(machine.describe())
assert all(np.allclose(each, expected, rtol=1e-4) for each in results.values())
assert "aarch64" not in results or np.array_equal(*results.values())

# %% [markdown]
# ## Exercises
#
# 1. How many vector registers do the sums of a tile of 4 x 16 take on x86-64-v3 and on AArch64?
#    Which tile fills both better?
# 2. Compile the GPU's schedule for `sm_70` and `sm_90`, and look for the lines of the PTX that
#    differ.

# %% tags=["solution"]
for name, floats, registers in (("x86-64-v3", 8, 16), ("aarch64", 4, 32)):
    print(f"{name}: {4 * 16 // floats} of {registers}")
# Six rows: 12 of 16, and 24 of 32, with room for operands.
taller = tx.schedule(matmul, M=N // 6 * 6, K=N, N=N)
taller.replay(TILES.replace('"i", 4', '"i", 6') + LANES)
for name in kernels:
    loop = inner_loop(taller.compile(name).asm)
    print(f"{name}: {products(loop)} products in {len(loop)} instructions")

# %% tags=["solution"]
texts = {name: bound.compile(name).ptx.splitlines() for name in ("sm_70", "sm_90")}
old, new = (set(lines) for lines in texts.values())
print("\n".join(sorted(line for line in old ^ new if line.startswith("."))))

# %% [markdown]
# `python -m texpr bench targets` runs every operator of the library and every gradient on all
# targets. [The guide](../guide/targets.md) says how to write a target of your own.
