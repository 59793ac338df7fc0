// SPDX-License-Identifier: Apache-2.0
#pragma once

// The feeding warp: describes the units, and keeps the rings of pixels and of weights full.
namespace kiln {

/// Pixels, for each chunk of each unit.
struct PixelFeed {
    const ForwardArguments& arguments;
    const Layout& layout;
    const Share& share;
    unsigned char* shared;
    const Barriers& barriers;
    Index unit;
    int chunk;
    int run_count = 0;
    Turn<pixel_stages> turn;
    Turn<unit_places> unit_turn;
    Turn<block_places> block_turn;

    __device__ __forceinline__ bool is_done() const { return unit >= share.units; }
    __device__ __forceinline__ bool has_room() const {
        return mbarrier_test_wait_parity(barriers.pixels_empty + 8 * turn.index, turn.parity ^ 1);
    }

    __device__ __forceinline__ void describe_unit() {
        Unit description(arguments, layout, unit);
        const Segments segments(arguments, layout, description);
        __syncwarp();
        run_count = list_runs(segments, reinterpret_cast<Run*>(shared + runs_at));
        description.blocks = list_blocks(segments, reinterpret_cast<Block*>(shared + blocks_at) + block_turn.index * most_blocks);
        if (threadIdx.x % 32 == 0) reinterpret_cast<Unit*>(shared + units_at)[unit_turn.index] = description;
        __syncwarp();
        unit_turn.advance();
        block_turn.advance();
    }

    __device__ __forceinline__ void feed() {
        if (chunk == share.first_chunk) describe_unit();
        fetch_chunk(arguments, layout, reinterpret_cast<const Run*>(shared + runs_at), run_count, chunk,
                    reinterpret_cast<float*>(shared + pixels_at) + turn.index * pixel_floats,
                    barriers.pixels_full + 8 * turn.index);
        turn.advance();
        if (++chunk == share.last_chunk) {
            chunk = share.first_chunk;
            unit += share.step;
        }
    }
};

/// Weights, for each batch of each unit: in memory they lie in the order of their use.
struct WeightFeed {
    const ForwardArguments& arguments;
    const Share& share;
    unsigned stages_address;
    const Barriers& barriers;
    Index unit;
    int chunk;
    int batch = 0;
    Turn<stages> turn;

    __device__ __forceinline__ bool is_done() const { return unit >= share.units || (weights_stay && unit > share.first); }
    __device__ __forceinline__ bool has_room() const {
        return mbarrier_test_wait_parity(barriers.weights_empty + 8 * turn.index, turn.parity ^ 1);
    }

    __device__ __forceinline__ void feed() {
        const unsigned full = barriers.weights_full + 8 * turn.index;
        const unsigned bytes = steps_of(batch) * step_bytes;
        const Index first_chunk = static_cast<Index>(Share::filter_tile(unit)) * chunks + chunk;
        const char* const source = static_cast<const char*>(arguments.weights) + bias_bytes +
                                   (first_chunk * chunk_steps + first_step(batch)) * step_bytes;
        if (threadIdx.x % 32 == 0) {
            mbarrier_arrive_expect_tx(full, bytes);
            cp_async_bulk(stages_address + turn.index * stage_bytes, source, bytes, full);
        }
        __syncwarp();
        turn.advance();
        if (++batch < batches) return;
        batch = 0;
        if (++chunk < share.last_chunk) return;
        chunk = share.first_chunk;
        unit += share.step;
    }
};

/// Read from shared memory at every poll, the share of the work slows the warp down; where it feeds little, it has no registers
/// for a copy.
template <bool copies>
struct FeedersShare {
    using Type = const Share&;
};
template <>
struct FeedersShare<true> {
    using Type = const Share;
};

/// Its life.
__device__ __forceinline__ void feed(const ForwardArguments& arguments, unsigned char* shared) {
    const Layout layout(arguments);
    FeedersShare<!weights_stay>::Type share = Share::in(shared);
    const Barriers barriers(shared);
    PixelFeed pixels{arguments, layout, share, shared, barriers, share.first, share.first_chunk};
    WeightFeed weights{arguments, share, shared_address(shared + stages_at), barriers, share.first, share.first_chunk};
    while (!pixels.is_done() || !weights.is_done()) {
        // The lanes act together: what one finds is what all do.
        if (!pixels.is_done() && __all_sync(0xffffffffu, pixels.has_room())) pixels.feed();
        if (!weights.is_done() && __all_sync(0xffffffffu, weights.has_room())) weights.feed();
    }
}

}  // namespace kiln
