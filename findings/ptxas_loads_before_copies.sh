#!/usr/bin/env bash
# ptxas 13.5.37 (and 12.6.85): from sm_90 on, the first of several asynchronous copies stands behind three loads from shared memory that
# never run, `@!PT LDS RZ, [RZ]`. A kernel that only copies appears to load, and a count of LDS in SASS (bank conflicts, spills, the share
# of products in a loop) is three too large for each place where copies begin. For sm_80 to sm_89 there are none.
#
# Seen, for two copies of 16 bytes by `cp.async.cg.shared.global` in a kernel that reads no shared memory:
#   sm_80: 2 LDGSTS, 0 LDS    sm_89: 2 LDGSTS, 0 LDS    sm_90: 2 LDGSTS, 3 LDS, all @!PT
# Exits with 1 if that changes. It needs no GPU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet nvidia-cuda-nvcc==13.5.37 nvidia-cuda-nvdisasm==13.5.37
ptxas=$(find "$folder/env" -name ptxas -type f | head -n 1)
nvdisasm=$(find "$folder/env" -name nvdisasm -type f | head -n 1)
as_seen=0
for target in sm_80 sm_89 sm_90; do
    cat > "$folder/kernel.ptx" <<PTX
.version 8.0
.target $target
.address_size 64
.visible .entry copies(.param .u64 from)
{
    .reg .b32 %to;
    .reg .b64 %given, %at;
    .shared .align 16 .b8 room[64];
    ld.param.u64 %given, [from];
    cvta.to.global.u64 %at, %given;
    mov.u32 %to, room;
    cp.async.cg.shared.global [%to], [%at], 16;
    cp.async.cg.shared.global [%to + 16], [%at + 16], 16;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ret;
}
PTX
    "$ptxas" "-arch=$target" "$folder/kernel.ptx" -o "$folder/kernel.cubin"
    "$nvdisasm" -c "$folder/kernel.cubin" > "$folder/kernel.sass"
    copies=$(grep -c 'LDGSTS' "$folder/kernel.sass" || true)
    loads=$(grep -cw 'LDS' "$folder/kernel.sass" || true)
    never=$(grep -c '@!PT LDS RZ, \[RZ\]' "$folder/kernel.sass" || true)
    echo "$target: $copies LDGSTS, $loads LDS, of which $never never run"
    case "$target:$copies:$loads:$never" in
        sm_80:2:0:0 | sm_89:2:0:0 | sm_90:2:3:3) as_seen=$((as_seen + 1)) ;;
    esac
done
[ "$as_seen" -eq 3 ]
