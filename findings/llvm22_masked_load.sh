#!/usr/bin/env bash
# llvmlite 0.50.0 (LLVM 22.1): for processors with AVX-512 a masked load may lose its mask. Where a sum under the same
# mask is the load's only use, the load becomes the sum's operand in memory, which is right: lanes that are off touch
# no memory. Where the other operand is used again, the operand is taken out of the sum once more, and what comes out
# is a load of all lanes. A vector at the end of an array then reads past it. LLVM 20 (llvmlite 0.47.0) keeps the mask.
#
# Seen, for a loop that adds to the lower half of 16 floats, at x86-64-v4 (assembly alone, nothing is run):
#   LLVM 22   vmovups (%rdi,%rax,4), %ymm3
#   LLVM 20   vmovups (%rdi,%rax,4), %ymm3 {%k1} {z}
# texpr hands the loaded vector through an empty asm, so that it stays a load of its own (targets/emit).
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
cat > "$folder/assembly.py" <<'PYTHON'
import re

import llvmlite.binding as llvm

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
T='''
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
define <16 x float> @f(ptr %p, <8 x i64> %k, i64 %n, i64 %end, <16 x float> %s) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %acc = phi <16 x float> [%s, %entry], [%new, %loop]
  %v = insertelement <8 x i64> poison, i64 %i, i64 0
  %w = shufflevector <8 x i64> %v, <8 x i64> poison, <8 x i32> zeroinitializer
  %at = add <8 x i64> %w, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %nv = insertelement <8 x i64> poison, i64 %n, i64 0
  %nw = shufflevector <8 x i64> %nv, <8 x i64> poison, <8 x i32> zeroinitializer
  %m = icmp slt <8 x i64> %at, %nw
  %a = getelementptr float, ptr %p, i64 %i
  %x = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %a, i32 1, <8 x i1> %m, <8 x float> zeroinitializer)
  %low = shufflevector <16 x float> %acc, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum = fadd <8 x float> %low, %x
  %part = select <8 x i1> %m, <8 x float> %sum, <8 x float> %low
  %wide = shufflevector <8 x float> %part, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  %new = shufflevector <16 x float> %wide, <16 x float> %acc, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %next = add i64 %i, 16
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret <16 x float> %new
}
'''
m=llvm.parse_assembly(T)
tm=llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(cpu="x86-64-v4",opt=3)
print(*re.findall(r"vmovups\t\(%rdi.*", tm.emit_assembly(m)))
PYTHON
failed=0
for row in "0.47.0={%k1} {z}" "0.50.0="; do
    "$folder/env/bin/pip" install --quiet "llvmlite==${row%%=*}"
    seen=$("$folder/env/bin/python" "$folder/assembly.py")
    echo "llvmlite ${row%%=*}: $seen"
    [ "$(echo "$seen" | sed 's/^.*%ymm3 *//')" = "${row#*=}" ] || failed=1
done
exit $failed
