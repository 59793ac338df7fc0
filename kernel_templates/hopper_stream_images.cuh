// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums of images: those that blocks share, and those of a block's own.
namespace kiln {

/// Brings a stream's finished images to the other blocks' parts of them: by the stream's first warp, in the order of its warps.
/// All of them call it at the same units.
__device__ __forceinline__ void meet_pending(const ForwardArguments& arguments, const Layout& layout, const Station* stations,
                                             int stream, int block) {
    const int stream_threads = 32 * layout.blocks();
    if (layout.blocks() > 1) barrier_sync(1 + warpgroups + stream, stream_threads);
    if (block == 0) {
        constexpr int lanes = 32 / most_pending;
        const int entry = lane_index() / lanes;
        const bool active = entry < stations->pending;
        const Index image = stations->images[active ? entry : 0];
        double sum = 0;
#pragma unroll 1
        for (int i = 0; i < layout.blocks(); ++i) sum += stations[i].totals[active ? entry : 0];
        const Index image_units = static_cast<Index>(layout.strips()) * arguments.pooled_height;
        // The runs of the image's first unit and of its last: a lane works out one, lest the compiler do it twice.
        const bool is_odd = lane_index() % 2 != 0;
        const int run = layout.run_with(image * image_units + (is_odd ? image_units - 1 : 0));
        const Contributors contributors{__shfl_sync(0xffffffffu, run, 0, lanes), __shfl_sync(0xffffffffu, run, 1, lanes), 1};
        meet(arguments, image, sum, contributors, stations->run, 0, active, lanes);
    }
}

/// The sums of images that the block has to itself: the first warp adds what all have.
__device__ __forceinline__ void finish_own_images(const ForwardArguments& arguments, const Layout& layout,
                                                  const Station* stations) {
    constexpr int lanes = 32 / most_pending;
    const int entry = lane_index() / lanes;
    const Index image = static_cast<Index>(blockIdx.x) * layout.own_images() + entry;
    double sum = 0;
#pragma unroll 1
    for (int warp = lane_index() % lanes; warp < warps; warp += lanes) {
#pragma unroll 1
        for (int i = 0; i < stations[warp].pending; ++i) sum += stations[warp].images[i] == image ? stations[warp].totals[i] : 0;
    }
    sum = lane_group_sum(sum, lanes);
    if (lane_index() % lanes == 0 && entry < layout.own_images() && image < arguments.batch) {
        arguments.y[image] = static_cast<float>(sum);
    }
}

}  // namespace kiln
