"""The 30 kernels of PolyBench 4.2 as operators of texpr, beside plain C loops: `table` lists them,
`python -m bench.polybench` times them.

PolyBench: L.-N. Pouchet and T. Yuki, https://sourceforge.net/projects/polybench. The operators and
the C loops in `kernels/` were written from the definitions in its manual.
"""
