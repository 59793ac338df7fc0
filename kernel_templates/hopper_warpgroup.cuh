// SPDX-License-Identifier: Apache-2.0
#pragma once

// What warps and warpgroups of a specialised block do together (PTX: setmaxnreg, barrier; sm_90a).
namespace kiln {

/// Gives registers back: by every warp of a warpgroup, which then runs with `registers` a thread.
template <int registers>
__device__ __forceinline__ void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

/// Takes registers that another warpgroup gave back, waiting for them.
template <int registers>
__device__ __forceinline__ void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

/// Waits at one of the block's 16 barriers until `threads` threads have arrived or wait there. Barrier 0 is __syncthreads.
__device__ __forceinline__ void barrier_sync(int barrier, int threads) {
    asm volatile("barrier.cta.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Arrives there without waiting.
__device__ __forceinline__ void barrier_arrive(int barrier, int threads) {
    asm volatile("barrier.cta.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace kiln
