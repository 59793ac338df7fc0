// SPDX-License-Identifier: Apache-2.0
#pragma once

// From sums over a tile's positions to y: tiles follow each other through the images, and an image may take many tiles or a
// tile many images.
namespace kiln {

/// Blocks are counted run by run. Tiles are few where there are fewer than blocks.
__device__ __forceinline__ Share share_of_work(const ForwardArguments& arguments) {
    const Index all_positions = arguments.batch * arguments.pooled_height * arguments.pooled_width;
    const Index tiles = (all_positions + positions - 1) / positions;
    const int all_blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    const int runs = tiles < all_blocks ? static_cast<int>(tiles) : all_blocks;
    Share share;
    share.runs = Runs{tiles, runs};
    share.splits = all_blocks / runs;
    share.run = block / share.splits;
    share.split = block % share.splits;
    const Index first_tile = share.runs.begin(share.run);
    share.tiles = static_cast<int>(share.runs.begin(share.run + 1) - first_tile);
    share.begin = first_tile * positions;
    share.first_filter_tile = filter_tiles * share.split / share.splits;
    share.end_filter_tile = filter_tiles * (share.split + 1) / share.splits;
    return share;
}

__device__ __forceinline__ Contributors contributors_of(const Share& share, Index image, Index positions_per_image) {
    const Index first = image * positions_per_image, last = first + positions_per_image - 1;
    return {share.runs.of(first / positions), share.runs.of(last / positions), share.splits};
}

/// Adds a value of each thread over the block, in a fixed order; every thread gets the sum.
__device__ __forceinline__ double block_sum(Shared& shared, double value) {
    value = lane_group_sum(value);
    if (threadIdx.x % 32 == 0) shared.warp_sums[threadIdx.x / 32] = value;
    __syncthreads();
    double total = 0;
#pragma unroll 1
    for (int warp = 0; warp < warps; ++warp) total += shared.warp_sums[warp];
    return total;
}

/// Finishes the images from `first` to before `last`, and begins `last`.
///
/// Each thread brings its part of the sum of image `first` so far, and shared.position_sums has the sum of each position of a
/// tile: `count` of them, from position `begin` of the batch. Groups of lanes, as large as an image is, take an image each.
/// Returns each thread's part of image `last`.
__device__ __forceinline__ double finish_images(Shared& shared, const ForwardArguments& arguments, Index first, Index last,
                                                Index begin, int count, double running) {
    const double carried = block_sum(shared, running);
    running = 0;
    const Index positions_per_image = static_cast<Index>(arguments.pooled_height) * arguments.pooled_width;
    int lanes = 1;
#pragma unroll 1
    while (lanes < 32 && lanes < positions_per_image) lanes *= 2;
    const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
#pragma unroll 1
    for (Index base = first; base <= last; base += threads / lanes) {
        const Index image = base + static_cast<int>(threadIdx.x) / lanes;
        const Index offset = image * positions_per_image - begin;
        const int to = static_cast<int>(min(offset + positions_per_image, static_cast<Index>(count)));
        double sum = 0;
#pragma unroll 1
        for (int position = static_cast<int>(max(offset, Index{0})) + lane; position < to; position += lanes) {
#pragma unroll
            for (int group = 0; group < warps_along_filters; ++group) sum += shared.position_sums[group][position];
        }
        sum = lane_group_sum(sum, lanes);
        if (image == first) sum += carried;
        if (image == last && lane == 0) running = sum;
        const bool is_complete = image < last;
        const Contributors contributors = contributors_of(shared.share, is_complete ? image : first, positions_per_image);
        meet(arguments, image, sum, contributors, shared.share.run, shared.share.split, is_complete, lanes);
    }
    return running;
}

}  // namespace kiln
