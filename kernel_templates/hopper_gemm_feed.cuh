// SPDX-License-Identifier: Apache-2.0
#pragma once

// The feeding warps: one describes the units and keeps the ring of pixels full, one the ring of weights.
namespace kiln {

/// A warp: pixels, for each chunk of each unit. Of a unit's description what the copies need comes first, for they take a while,
/// and then what the builders need.
__device__ __forceinline__ void feed_pixels(const ForwardArguments& arguments, unsigned char* shared) {
    const Layout layout(arguments);
    const Share& share = Share::in(shared);
    const Barriers barriers(shared);
    Run* const runs = reinterpret_cast<Run*>(shared + runs_at);
    Turn<pixel_stages> turn;
    Turn<unit_places> unit_turn;
    Turn<block_places> block_turn;
    for (unsigned before = 0; share.unit(before) < share.units; ++before) {
        Unit unit(arguments, layout, share.unit(before));
        const Segments segments(arguments, layout, unit);
        __syncwarp();  // all have read the runs before
        const int run_count = list_runs(segments, runs);
        __syncwarp();
        if (before == 0) griddepcontrol_wait();  // x may come from the kernel in front
#pragma unroll 1
        for (int chunk = share.first_chunk; chunk < share.last_chunk; ++chunk) {
            const unsigned full = barriers.pixels_full + 8 * turn.index;
            mbarrier_wait_parity(barriers.pixels_empty + 8 * turn.index, turn.parity ^ 1);
            fetch_chunk(arguments, layout, runs, run_count, chunk,
                        reinterpret_cast<float*>(shared + pixels_at) + turn.index * pixel_floats, full);
            if (chunk == share.first_chunk) {
                if constexpr (has_maps) {
                    unit.blocks =
                        list_blocks(segments, reinterpret_cast<Block*>(shared + blocks_at) + block_turn.index * most_blocks);
                }
                if (threadIdx.x % 32 == 0) reinterpret_cast<Unit*>(shared + units_at)[unit_turn.index] = unit;
            }
            mbarrier_arrive(full);
            turn.advance();
        }
        unit_turn.advance();
        block_turn.advance();
    }
}

/// A lane: weights, for each batch of each unit; for the first alone, where they stay. In memory a filter tile's lie in the order
/// of their use.
__device__ __forceinline__ void feed_weights(const ForwardArguments& arguments, unsigned char* shared) {
    const Share& share = Share::in(shared);
    const Barriers barriers(shared);
    const unsigned stages_address = shared_address(shared + stages_at);
    Turn<stages> turn;
    for (unsigned before = 0; share.unit(before) < share.units; ++before) {
        const Index first_chunk = static_cast<Index>(Share::filter_tile(share.unit(before))) * chunks + share.first_chunk;
        const char* source = static_cast<const char*>(arguments.weights) + bias_bytes + first_chunk * (chunk_steps * step_bytes);
        const int count = (share.last_chunk - share.first_chunk) * batches;
        int batch = 0;
#pragma unroll 1
        for (int i = 0; i < count; ++i) {
            const unsigned full = barriers.weights_full + 8 * turn.index, bytes = steps_of(batch) * step_bytes;
            mbarrier_wait_parity(barriers.weights_empty + 8 * turn.index, turn.parity ^ 1);
            mbarrier_arrive_expect_tx(full, bytes);
            cp_async_bulk(stages_address + turn.index * stage_bytes, source, bytes, full);
            source += bytes;
            turn.advance();
            if (++batch == batches) batch = 0;
        }
        if (weights_stay) break;
    }
}

}  // namespace kiln
