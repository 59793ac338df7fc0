// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who waits for whom.
namespace kiln {

/// Barriers in shared memory; places used in turn have one each. Every lane arrives for itself: measured, that costs nothing, and
/// `compute-sanitizer --tool racecheck` does not see what orders a warp's accesses where one lane arrives for all.
struct Barriers {
    unsigned weights_full, weights_empty;  // a stage's bytes have arrived; the consumers' products with it are done
    unsigned pixels_full, pixels_empty;    // the feeding warp has issued its copies and their bytes have arrived;
                                           // the builders have read what they need
    unsigned map_full, map_empty;          // the builders have made it; the consumers have gathered all
    unsigned sums_full, sums_empty;        // the consumers have written their positions' sums; they have been added up

    __device__ __forceinline__ explicit Barriers(const unsigned char* shared)
        : weights_full(shared_address(shared + barriers_at)),
          weights_empty(weights_full + 8 * stages),
          pixels_full(weights_empty + 8 * stages),
          pixels_empty(pixels_full + 8 * pixel_stages),
          map_full(pixels_empty + 8 * pixel_stages),
          map_empty(map_full + 16),
          sums_full(map_full + 32),
          sums_empty(map_full + 48) {}

    /// One thread, before the block's barrier.
    __device__ __forceinline__ void init() const {
        for (int stage = 0; stage < stages; ++stage) {
            mbarrier_init(weights_full + 8 * stage, 1);
            mbarrier_init(weights_empty + 8 * stage, 128 * warpgroups);
        }
        for (int stage = 0; stage < pixel_stages; ++stage) {
            mbarrier_init(pixels_full + 8 * stage, 32);
            mbarrier_init(pixels_empty + 8 * stage, has_maps ? 32 * builder_warps : consumer_threads);
        }
        for (int turn = 0; turn < 2; ++turn) {
            mbarrier_init(map_full + 8 * turn, 32 * builder_warps);
            mbarrier_init(map_empty + 8 * turn, 128 * warpgroups);
            mbarrier_init(sums_full + 8 * turn, 128 * warpgroups);
            mbarrier_init(sums_empty + 8 * turn, 32);
        }
        fence_mbarrier_init();
    }
};

}  // namespace kiln
