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
# **Claim:** one operator and one schedule become vector code for x86 and for AArch64, and the same tiles bound to threads become a GPU
# kernel. What differs between processors is data: how wide their registers are, how many there are, which instructions they have.
#
# You need `texpr` and `matplotlib`. Where QEMU and a cross compiler are installed (on Debian: `apt install qemu-user
# gcc-aarch64-linux-gnu libc6-dev-arm64-cross`), the code for AArch64 runs too. No GPU is needed.

# %%
import os
import re
import shutil

import matplotlib.pyplot as plt
import numpy as np

import texpr as tx

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # smaller matrices: for tests
N = 64 if FAST else 256

matmul = tx.op("""
op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {
  C[i, j] = sum(k: A[i, k] * B[k, j])
}""")

# %% [markdown]
# ## One schedule
#
# A tile of 4 rows and 16 columns: its 64 sums stay in registers while `k` runs. Nothing in it names a processor.

# %%
TILES = """
allow_fma()
split("i", 4, tail="exact")
split("j", 16, tail="exact")
reorder("io", "jo", "k", "ii", "ji")
"""
schedule = tx.schedule(matmul, M=N, K=N, N=N).replay(
    TILES + 'unroll("ii")\nvectorize("ji")'
)
print(schedule)

# %% [markdown]
# The proof that these loops compute the operator is made once. It does not depend on the processor either.

# %%
print(schedule.certificate())

# %% [markdown]
# ## Two instruction sets
#
# This finds the loop over `k` in the assembly: the loop, without another one inside, that has most products.

# %%
PRODUCT = re.compile(r"(vfn?madd|vmulps|fmla|fmul|fma\.rn|mma)")


def inner_loop(assembly):
    """The instructions of that loop."""
    lines, labels, loops = assembly.splitlines(), {}, [[]]
    for at, line in enumerate(lines):
        label, jump = (
            re.match(r"([.$]L\w+):", line),
            re.search(
                r"\b(?:j\w+|b\.?\w*|@%p\d+ bra\w*|cbnz)\s.*?([.$]L\w+);?\s*$", line
            ),
        )
        if label:
            labels[label[1]] = at
        elif (
            jump
            and jump[1] in labels
            and not any(
                re.match(r"[.$]L\w+:", n) for n in lines[labels[jump[1]] + 1 : at]
            )
        ):
            body = lines[labels[jump[1]] + 1 : at + 1]
            loops.append(
                [
                    n.strip().expandtabs(8)
                    for n in body
                    if n.startswith("\t") and not n.strip().startswith((".", "//", "#"))
                ]
            )
    return max(loops, key=lambda loop: sum(bool(PRODUCT.match(n)) for n in loop))


kernels = {name: schedule.compile(name) for name in ("x86-64-v3", "aarch64")}
print("\n".join(inner_loop(kernels["x86-64-v3"].asm)))

# %% [markdown]
# x86-64-v3 has registers of 8 floats: two of them hold the 16 columns, and `vbroadcastss` gives a number of `A` to all lanes. AArch64 has
# registers of 4, and 32 of them: four hold the columns, and `fmla` takes the number of `A` from a lane of a register.

# %%
print("\n".join(inner_loop(kernels["aarch64"].asm)))

# %% [markdown]
# Both compute what the interpreter computes. The code for AArch64 runs in QEMU here, slowly, true to the instruction set.

# %%
generator = np.random.default_rng(0)
A, B = (generator.random((N, N), np.float32) for _ in range(2))
expected = A.astype(np.float64) @ B
results = {"native": schedule.compile("native")(A, B)}
if shutil.which("qemu-aarch64") and shutil.which("aarch64-linux-gnu-gcc"):
    results["aarch64"] = kernels["aarch64"].emulate(A, B)
for name, found in results.items():
    print(
        f"{name:8} largest relative difference: {np.abs(found / expected - 1).max():.1e}"
    )
if "aarch64" in results:
    print("the same bits:", np.array_equal(results["native"], results["aarch64"]))

# %% [markdown]
# The bits are the same because the order of every sum is in the schedule, and both processors round a product and its sum once.
#
# ## A GPU
#
# The same tiles; in place of vectors and threads of a CPU, tiles go to blocks and their elements to threads. The last line of the script is
# all that is different.

# %%
bound = tx.schedule(matmul, M=N, K=N, N=N).replay(
    TILES.replace(
        'reorder("io", "jo", "k", "ii", "ji")',
        """
reorder("io", "jo", "ii", "ji", "k")
bind("io", "block.y")
bind("jo", "block.x")
bind("ii", "thread.y")
bind("ji", "thread.x")""",
    )
)
gpu = bound.compile("sm_80")
print(bound)
print("\n".join(inner_loop(gpu.ptx)))

# %% [markdown]
# Each thread computes one element; `fma.rn` is the product. No GPU is at hand: one fiber for each of its threads runs the same code here.

# %%
small = {"M": 16, "K": 16, "N": 32}
script = bound.script()
few = tx.schedule(matmul, **small).replay(script).compile("sm_80")
a, b = A[:16, :16].copy(), B[:16, :32].copy()
print("largest difference:", np.abs(few.emulate(a, b) - a.astype(np.float64) @ b).max())

# %% [markdown]
# ## What `auto()` makes of the machine's record
#
# The default schedule reads a record of the machine and no processor's name. Here the three records ask for tiles of different shape, and
# on AArch64 rows are copied so that registers of four of them are loaded, of which products take one lane each. The loops get shorter or
# longer; what counts is how much of them is products.

# %%
mixes = {}
for name in ("x86-64-v3", "x86-64-v4", "aarch64", "armv7"):
    loop = inner_loop(
        tx.schedule(matmul, M=512, K=512, N=512)
        .auto(name)
        .compile(name)
        .asm.replace("vmla.f32", "fmla")
    )
    kinds = [
        (
            "products"
            if PRODUCT.match(n)
            else "loads"
            if re.match(r"(v?mov[au]|vbroadcast|ldp|ldr|ldur|ld1|vld|vldm)", n)
            else "others"
        )
        for n in loop
    ]
    mixes[name] = [
        kinds.count(kind) / len(kinds) for kind in ("products", "loads", "others")
    ]
    print(
        f"{name:10} {len(loop):4} instructions, {mixes[name][0]:.0%} of them products"
    )

figure, axes = plt.subplots(figsize=(7, 2.6))
left = np.zeros(len(mixes))
for kind, color, shares in zip(
    ("products", "loads", "others"),
    ("tab:green", "tab:blue", "lightgray"),
    zip(*mixes.values()),
    strict=True,
):
    axes.barh(list(mixes), shares, left=left, color=color, label=kind)
    left += shares
axes.set_xlabel("share of the instructions of the inner loop of a 512 x 512 product")
axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.25), ncols=3, frameon=False)
axes.invert_yaxis()
figure.tight_layout()
plt.show()

# %% [markdown]
# On x86 many products take an operand from memory, so that a loop needs few loads; AArch64 loads pairs of registers. armv7, with 16
# registers, keeps fewer sums.
#
# ## Whole networks
#
# `python -m texpr bench targets` runs every operator of the library and every gradient on all targets; `docs/guide/targets.md` has the table and
# says how to write a target of your own. `python examples/arm.py` trains a small convolutional network by code for AArch64, in QEMU, to the
# curve that this machine has.
