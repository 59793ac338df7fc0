// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/nvrtc.hpp"
#include "support/skip.hpp"

namespace kiln::test {

/// The NVRTC of this machine; skips the case where there is none.
inline jit::Nvrtc real_nvrtc() {
    auto nvrtc = jit::describe_nvrtc();
    if (!nvrtc) skip("there is no NVRTC here: " + nvrtc.error().message);
    return *nvrtc;
}

/// A small kernel with registers, shared memory and nothing in local memory.
inline constexpr const char* small_kernel = R"(
struct Arguments { const float* x; float* y; };
extern "C" __global__ void __launch_bounds__(256) kiln_forward(Arguments arguments) {
    __shared__ float tile[300];
    tile[threadIdx.x] = arguments.x[threadIdx.x];
    __syncthreads();
    arguments.y[threadIdx.x] = tile[255 - threadIdx.x] * 2.0f;
}
)";

}  // namespace kiln::test
