# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts of this folder share; sourced, never run. The caller has `set -euo pipefail`.
kiln_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kiln_wheels=$kiln_root/build/cuda-wheels
kiln_step=""
kiln_step_times=()

say() { printf '%s\n' "$*" >&2; }
die() {
    say "$(basename "$0"): $*"
    exit 1
}

# Runs a command as a named step: says when it begins, how long it took, and, by `name_failed_step`, which one stopped the script.
step() {
    kiln_step=$1
    local begin=$SECONDS
    shift
    printf '\n==> %s\n' "$kiln_step"
    "$@"
    kiln_step_times+=("$(printf '%4d s  %s' $((SECONDS - begin)) "$kiln_step")")
    printf '<== %s: %d s\n' "$kiln_step" $((SECONDS - begin))
    kiln_step=""
}
name_failed_step() {
    local status=$?
    if [ "$status" -ne 0 ] && [ -n "$kiln_step" ]; then say "FAILED (exit status $status): $kiln_step"; fi
}
print_step_times() { printf '%s\n' "${kiln_step_times[@]}"; }

has_gpu() { compgen -G '/dev/nvidia[0-9]*' >/dev/null || compgen -G '/dev/dxg' >/dev/null; }

# The file of a libnvrtc of CUDA 12 or later that a toolkit installed, or nothing.
toolkit_nvrtc() {
    local folder version
    for folder in "${CUDA_PATH:+$CUDA_PATH/lib64}" "${CUDA_HOME:+$CUDA_HOME/lib64}" /usr/local/cuda/lib64 \
        /usr/lib/x86_64-linux-gnu /usr/lib64; do
        for version in 13 12; do
            if [ -n "$folder" ] && [ -e "$folder/libnvrtc.so.$version" ]; then
                printf '%s\n' "$folder/libnvrtc.so.$version"
                return
            fi
        done
    done
}

# The folder of a cuda.h of CUDA 12 or later that a toolkit installed, or nothing.
toolkit_headers() {
    local folder
    for folder in "${CUDA_PATH:+$CUDA_PATH/include}" "${CUDA_HOME:+$CUDA_HOME/include}" /usr/local/cuda/include /usr/include; do
        if [ -n "$folder" ] && [ -e "$folder/nvrtc.h" ] && grep -qE '^#define CUDA_VERSION (1[2-9]|[2-9][0-9])' "$folder/cuda.h" 2>/dev/null; then
            printf '%s\n' "$folder"
            return
        fi
    done
}

# Without a toolkit the library of NVIDIA's wheel is named to whatever the script starts; a choice of the user's is kept.
use_wheel_nvrtc() {
    if [ -n "${KILN_NVRTC_LIBRARY:-}" ] || [ -n "$(toolkit_nvrtc)" ]; then return; fi
    local library
    library=$(compgen -G "$kiln_wheels/nvidia/*/lib/libnvrtc.so.*" | head -n 1 || true)
    if [ -n "$library" ]; then export KILN_NVRTC_LIBRARY=$library; fi
}

# build_preset release [cmake's options…] [-- targets…]: configures and builds; ccache is used where it is installed.
build_preset() {
    local preset=$1 options=() log
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    [ $# -eq 0 ] || shift
    if [ "${CI:-}" = true ]; then options+=(-DKILN_WARNINGS_AS_ERRORS=ON); fi
    if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
    mkdir -p "$kiln_root/build"
    log=$kiln_root/build/$preset-configure.log
    (cd "$kiln_root" && cmake --preset "$preset" "${options[@]}") >"$log" 2>&1 || {
        cat "$log" >&2
        return 1
    }
    cmake --build "$kiln_root/build/$preset" ${1:+--target "$@"}
}

# run_tests release [ctest's options…]
run_tests() {
    local preset=$1
    shift
    (cd "$kiln_root" && ctest --preset "$preset" --parallel "$(nproc)" --no-tests=error "$@" </dev/null)
}
