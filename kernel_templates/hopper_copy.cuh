// SPDX-License-Identifier: Apache-2.0
#pragma once

// Asynchronous copies from global to shared memory. Addresses are 32-bit addresses of shared memory.
namespace kiln {

/// The copy engine's one-dimensional copy: both ends aligned to 16 bytes, `bytes` a multiple of 16.
/// Its bytes count towards the barrier's phase, which must expect them (PTX: cp.async.bulk; sm_90).
__device__ __forceinline__ void cp_async_bulk(unsigned destination, const void* source, unsigned bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(destination),
                 "l"(source), "r"(bytes), "r"(barrier)
                 : "memory");
}

/// A thread's copy of 4 or 8 bytes through L1, or of 16 around it (PTX: cp.async; sm_80).
template <int bytes>
__device__ __forceinline__ void cp_async(unsigned destination, const void* source) {
    if constexpr (bytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(destination), "l"(source) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(destination), "l"(source), "n"(bytes) : "memory");
    }
}

/// The same, but writes zeros and reads nothing unless `inside`.
template <int bytes>
__device__ __forceinline__ void cp_async_zfill(unsigned destination, const void* source, bool inside) {
    if constexpr (bytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(inside ? 16 : 0)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(destination), "l"(source), "n"(bytes),
                     "r"(inside ? bytes : 0)
                     : "memory");
    }
}

/// Arrives at the barrier once this thread's earlier cp.async copies have landed; counts as one of the phase's arrivals.
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(unsigned barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

}  // namespace kiln
