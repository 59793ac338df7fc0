// SPDX-License-Identifier: Apache-2.0
#pragma once

// Barriers between the warps that build and those that multiply. Every thread arrives for itself: `compute-sanitizer --tool
// racecheck` does not see what orders a warp's accesses where one lane arrives for all, nor, always, what bar.arrive orders.
namespace kiln {

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
