// SPDX-License-Identifier: Apache-2.0
#pragma once

// Barriers in shared memory that count arrivals (PTX: mbarrier), in the forms that sm_80 has; hopper_mbarrier.cuh has more.
// Addresses are 32-bit addresses of shared memory.
namespace kiln {

/// Each phase of the barrier ends after `arrivals` arrivals and, where the copy engine arrives too, as many bytes as were
/// expected.
__device__ __forceinline__ void mbarrier_init(unsigned barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// What this thread wrote before is seen by those who have waited for the phase.
__device__ __forceinline__ void mbarrier_arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// True once the phase of this parity has ended; answers at once.
__device__ __forceinline__ bool mbarrier_test_wait_parity(unsigned barrier, unsigned parity) {
    unsigned done;
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
    return done != 0;
}

#if __CUDA_ARCH__ >= 900
/// The same, but it may sleep a little before it says no.
__device__ __forceinline__ bool mbarrier_try_wait_parity(unsigned barrier, unsigned parity) {
    unsigned done;
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
    return done != 0;
}
#endif

/// Waits for the end of the phase of this parity: 0 for a barrier's first phase, 1 for its second, 0 for its third.
/// Waiting for parity 1 on a fresh barrier returns at once.
__device__ __forceinline__ void mbarrier_wait_parity(unsigned barrier, unsigned parity) {
#if __CUDA_ARCH__ >= 900
    while (!mbarrier_try_wait_parity(barrier, parity)) {
    }
#else
    while (!mbarrier_test_wait_parity(barrier, parity)) {
    }
#endif
}

}  // namespace kiln
