"""PTX kernels without a GPU: their threads, warps and clusters on a CPU. Emission for it stands
in `targets.emulate`.
"""
