// SPDX-License-Identifier: Apache-2.0
#pragma once

// Barriers in shared memory (PTX: mbarrier) between the warps that build and those that multiply, in the forms that sm_80 has.
// Every thread arrives for itself: `compute-sanitizer --tool racecheck` does not see what orders a warp's accesses where one lane
// arrives for all, nor, always, what bar.arrive orders.
namespace kiln {

/// Each phase of the barrier ends after `arrivals` arrivals.
__device__ __forceinline__ void mbarrier_init(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// What this thread wrote before is seen by those who have waited for the phase.
__device__ __forceinline__ void mbarrier_arrive(unsigned barrier) {
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared.b64 state, [%0];\n\t}" ::"r"(barrier) : "memory");
}

/// True once the phase of this parity has ended.
__device__ __forceinline__ bool mbarrier_test_wait_parity(unsigned barrier, unsigned parity) {
    unsigned done;
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
#if __CUDA_ARCH__ >= 900
        "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\t"  // may sleep a little before it says no
#else
        "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\t"
#endif
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
    return done != 0;
}

/// Waits for the end of the phase of this parity: 0 for a barrier's first phase, 1 for its second, 0 for its third.
/// Waiting for parity 1 on a fresh barrier returns at once.
__device__ __forceinline__ void mbarrier_wait_parity(unsigned barrier, unsigned parity) {
    while (!mbarrier_test_wait_parity(barrier, parity)) {
    }
}

/// Two for each stage: the builders have filled it; the others have multiplied it, and it may be filled again.
struct StageBarriers {
    unsigned filled, multiplied;
    unsigned parity;  // of the phase of this turn

    __device__ __forceinline__ StageBarriers(Shared& shared, int turn)
        : filled(shared_address(&shared.filled[turn % box_stages])),
          multiplied(shared_address(&shared.multiplied[turn % box_stages])),
          parity(static_cast<unsigned>(turn / box_stages % 2)) {}

    /// One thread, before the block's barrier.
    static __device__ __forceinline__ void init(Shared& shared) {
#pragma unroll 1
        for (int stage = 0; stage < box_stages; ++stage) {
            mbarrier_init(shared_address(&shared.filled[stage]), building_threads);
            mbarrier_init(shared_address(&shared.multiplied[stage]), threads);
        }
    }
};

}  // namespace kiln
