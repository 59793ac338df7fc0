// SPDX-License-Identifier: Apache-2.0
#pragma once

// What goes with the tensor cores' warpgroup instruction (PTX: wgmma; sm_90a), whatever its operands.
namespace kiln {

/// Registers that feed a wgmma, accumulators included, must be final before this.
__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit_group() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most `pending` committed groups are in flight.
template <int pending>
__device__ __forceinline__ void wgmma_wait_group() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

}  // namespace kiln
