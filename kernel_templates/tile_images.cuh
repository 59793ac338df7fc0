// SPDX-License-Identifier: Apache-2.0
#pragma once

// From sums over a tile's positions to y: tiles follow each other through the images, and an image may take many tiles or a
// tile many images. The family says what a thread has of a tile (`ThreadTile`, `ThreadSums`), and how it multiplies and
// activates.
namespace kiln {

/// Blocks are counted run by run; src/model/families/tile_geometry.cpp says how many there are of what.
__device__ __forceinline__ Share share_of_work(const ForwardArguments& arguments) {
    Share share;
    share.runs = Runs{arguments.layout[0], arguments.layout[1]};
    share.splits = static_cast<int>(arguments.layout[2]);
    share.run = static_cast<int>(blockIdx.x) / share.splits;
    share.split = static_cast<int>(blockIdx.x) % share.splits;
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

/// How many positions a tile has: all but the last one of the batch have as many as fit.
__device__ __forceinline__ int count_positions(const ForwardArguments& arguments, Index begin) {
    const Index left = arguments.batch * arguments.pooled_height * arguments.pooled_width - begin;
    return left < positions ? static_cast<int>(left) : positions;
}

/// Adds a value of each thread, in a fixed order; every thread gets the sum.
__device__ __forceinline__ double block_sum(Shared& shared, double value) {
    value = lane_group_sum(value);
    if (threadIdx.x % 32 == 0) shared.warp_sums[threadIdx.x / 32] = value;
    sync_tile();
    double total = 0;
#pragma unroll 1
    for (int warp = 0; warp < warps; ++warp) total += shared.warp_sums[warp];
    return total;
}

/// Finishes the images from `first` to before `last`, and begins `last`.
///
/// shared.running has each thread's part of the sum of image `first` so far, and shared.position_sums has the sum of each
/// position of a tile: `count` of them, from position `begin` of the batch. Groups of lanes, as large as an image is, take an
/// image each. Leaves each thread's part of image `last` in shared.running.
__device__ __forceinline__ void finish_images(Shared& shared, const ForwardArguments& arguments, Index first, Index last,
                                              Index begin, int count) {
    double& running = shared.running[thread_index()];
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
}

/// The whole run of a block.
__device__ __forceinline__ void run_tiles(Shared& shared, const ForwardArguments& arguments) {
    const Index positions_per_image = static_cast<Index>(arguments.pooled_height) * arguments.pooled_width;
    shared.running[thread_index()] = 0;
    for (int tile = 0;; ++tile) {
        const bool is_last_round = tile == shared.share.tiles;  // without positions: it finishes the last image
        if (!is_last_round) {
            if (window_lanes == 1 && !builds_apart) ThreadWindows().locate(shared, arguments, shared.share.begin_of(tile));
            bool continues = false;  // the whole tile is more of the same image
#pragma unroll 1
            for (int filter_tile = shared.share.first_filter_tile; filter_tile < shared.share.end_filter_tile; ++filter_tile) {
                ThreadSums totals;
                multiply_tile(shared, arguments, shared.share.begin_of(tile), filter_tile, totals);
                float sums[thread_positions];
                activate_tile(shared, arguments, filter_tile, totals, sums);
                const Index begin = shared.share.begin_of(tile);
                const int count = count_positions(arguments, begin);
                continues = begin + count <= (shared.current_image + 1) * positions_per_image;
                if (continues) {
                    const ThreadTile thread;
#pragma unroll
                    for (int i = 0; i < thread_positions; ++i) sums[i] = thread.position(i) < count ? sums[i] : 0.0f;
                    shared.running[thread_index()] += static_cast<double>(pairwise_sum<thread_positions>(sums));
                } else {
                    store_position_sums(shared, filter_tile == shared.share.first_filter_tile, sums);
                }
            }
            if (continues) continue;
        }
        const Index begin = shared.share.begin_of(tile), current = shared.current_image;
        const int count = is_last_round ? 0 : count_positions(arguments, begin);
        const Index first = current < 0 ? begin / positions_per_image : current;
        const Index last = is_last_round ? current + 1 : (begin + count - 1) / positions_per_image;
        finish_images(shared, arguments, first, last, begin, count);
        if (is_last_round) break;
        if (threadIdx.x == 0) shared.current_image = last;
        sync_tile();
    }
}

}  // namespace kiln
