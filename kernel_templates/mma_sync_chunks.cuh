// SPDX-License-Identifier: Apache-2.0
#pragma once

// The order of a tile's chunks: box sums are built, weights arrive, both are multiplied.
//
// Where all warps build and multiply in turn:
//
//   box_stages = 2     build 0 │ multiply 0, build 1 │ multiply 1, build 2 │ …        │: a barrier; between two, warps need not
//   box_stages = 1     build 0 │ multiply 0 │ build 1 │ multiply 1 │ build 2 │ …          be in step
//   weights               (0)    ──copy 1──▶  ──copy 2──▶
//
// Where some do nothing but build, and bring weights (box_stages = 2):
//
//   builders           build 0 │ build 1 │ build 2 (when 0 is multiplied) │ …          from tile to tile
//   the others                 │ multiply 0        │ multiply 1           │ …
namespace kiln {

/// Starts the copies of a chunk's weights, or of `count` floats from there on.
template <int count = chunk_floats>
__device__ __forceinline__ void start_weights(const ForwardArguments& arguments, int filter_tile, int chunk, float* to) {
    const float* const from =
        static_cast<const float*>(arguments.weights) + (static_cast<Index>(filter_tile) * chunks + chunk) * chunk_floats;
#pragma unroll 1
    for (int at = 4 * building_thread(); at < count; at += 4 * building_threads) cp_async_cg_16(to + at, from + at);
}

/// Before the first tile: rows of boxes that no chunk fills are zero, and the first weights are on their way.
__device__ __forceinline__ void prepare(Shared& shared, const ForwardArguments& arguments) {
    if constexpr (weights_stay) {
        start_weights<chunks * chunk_floats + filters>(arguments, 0, 0, shared.weights);
    } else if constexpr (!builds_apart) {
        start_weights(arguments, shared.share.first_filter_tile, 0, shared.weights);
    }
#pragma unroll
    for (int stage = 0; stage < box_stages; ++stage) {
#pragma unroll 1
        for (int at = building_thread(); at < (8 * chunk_steps - chunk_k) * box_pitch; at += building_threads) {
            shared.boxes(stage)[chunk_k + at / box_pitch][at % box_pitch] = 0;
        }
    }
}

/// What the builders do: all chunks of all tiles, each as soon as its stage has been multiplied.
__device__ __forceinline__ void build_tiles(Shared& shared, const ForwardArguments& arguments) {
    const Share& share = shared.share;
    int turn = 0;
#pragma unroll 1
    for (int tile = 0; tile < share.tiles; ++tile) {
        if (window_lanes == 1) ThreadWindows().locate(shared, arguments, share.begin_of(tile));
#pragma unroll 1
        for (int filter_tile = share.first_filter_tile; filter_tile < share.end_filter_tile; ++filter_tile) {
#pragma unroll 1
            for (int chunk = 0; chunk < chunks; ++chunk, ++turn) {
                const int stage = turn % box_stages;
                const StageBarriers barriers(shared, turn);
                mbarrier_wait_parity(barriers.multiplied, barriers.parity ^ 1u);  // of the turn before; none in the first ones
                if constexpr (!weights_stay) start_weights(arguments, filter_tile, chunk, shared.weights + stage * chunk_floats);
                build_boxes(shared, shared.boxes(stage), arguments, share.begin_of(tile), Chunk(chunk));
                cp_async_wait_all();
                mbarrier_arrive(barriers.filled);
            }
        }
    }
}

/// The logits of one tile, from position `begin` of the batch, without their bias.
__device__ __forceinline__ void multiply_tile(Shared& shared, const ForwardArguments& arguments, Index begin, int filter_tile,
                                              ThreadSums& totals) {
    clear(totals);
    // How many chunks this block has multiplied before: stages are taken in turn, from tile to tile.
    const Share& share = shared.share;
    const int tile = static_cast<int>((begin - share.begin) / positions);
    const int filter_tiles_here = share.end_filter_tile - share.first_filter_tile;
    int turn = (tile * filter_tiles_here + filter_tile - share.first_filter_tile) * chunks;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk, ++turn) {
        if constexpr (builds_apart) {
            const int stage = turn % box_stages;
            const StageBarriers barriers(shared, turn);
            mbarrier_wait_parity(barriers.filled, barriers.parity);
            multiply_chunk(shared.boxes(stage), shared.weights + (weights_stay ? chunk : stage) * chunk_floats, totals);
            mbarrier_arrive(barriers.multiplied);
            continue;
        }
        // Where one chunk is all, its box sums serve every tile of filters, unless sums were exchanged in their place.
        const int box_stage = (chunks == 1 ? tile : turn) % box_stages;
        if (chunks > 1 || k_warps > 1 || filter_tile == share.first_filter_tile) {
            build_boxes(shared, shared.boxes(box_stage), arguments, begin, Chunk(chunk));
        }
        cp_async_wait_all();
        __syncthreads();
        if constexpr (!weights_stay) {  // of the chunk that comes next, whosever it is, into the stage that all have read
            const bool is_last = chunk + 1 == chunks;
            const int next_tile = !is_last                                  ? filter_tile
                                  : filter_tile + 1 < share.end_filter_tile ? filter_tile + 1
                                                                            : share.first_filter_tile;
            start_weights(arguments, next_tile, is_last ? 0 : chunk + 1, shared.weights + (turn + 1) % 2 * chunk_floats);
        }
        multiply_chunk(shared.boxes(box_stage), shared.weights + (weights_stay ? chunk : turn % 2) * chunk_floats, totals);
        if constexpr (box_stages == 1) __syncthreads();
    }
    if constexpr (k_warps > 1) {
        if constexpr (box_stages > 1 && !builds_apart) __syncthreads();
        add_divided_sums(shared, totals);
    }
}

}  // namespace kiln
