// SPDX-License-Identifier: Apache-2.0
#pragma once

// The order of a tile's chunks: box sums are built, weights arrive, both are multiplied.
//
//   box_stages = 2     build 0 │ multiply 0, build 1 │ multiply 1, build 2 │ …        │: a barrier; between two, warps need not
//   box_stages = 1     build 0 │ multiply 0 │ build 1 │ multiply 1 │ build 2 │ …          be in step
//   weights               (0)    ──copy 1──▶  ──copy 2──▶
namespace kiln {

/// Starts the copies of some chunks' weights.
template <int count>
__device__ __forceinline__ void start_weights(const ForwardArguments& arguments, int filter_tile, int chunk, float* to) {
    const float* const from =
        static_cast<const float*>(arguments.weights) + (static_cast<Index>(filter_tile) * chunks + chunk) * chunk_floats;
#pragma unroll 1
    for (int at = 4 * thread_index(); at < count * chunk_floats; at += 4 * threads) cp_async_cg_16(to + at, from + at);
}

/// Before the first tile: rows of boxes that no chunk fills are zero, and the first weights are on their way.
__device__ __forceinline__ void prepare(Shared& shared, const ForwardArguments& arguments) {
    if constexpr (weights_stay) {
        start_weights<chunks>(arguments, 0, 0, shared.weights[0]);
    } else {
        start_weights<1>(arguments, shared.share.first_filter_tile, 0, shared.weights[0]);
    }
#pragma unroll
    for (int stage = 0; stage < box_stages; ++stage) {
#pragma unroll 1
        for (int at = thread_index(); at < (8 * chunk_steps - chunk_k) * box_pitch; at += threads) {
            shared.boxes(stage)[chunk_k + at / box_pitch][at % box_pitch] = 0;
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
    int turn = (tile * (share.end_filter_tile - share.first_filter_tile) + filter_tile - share.first_filter_tile) * chunks;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk, ++turn) {
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
            start_weights<1>(arguments, next_tile, is_last ? 0 : chunk + 1, shared.weights[(turn + 1) % 2]);
        }
        multiply_chunk(shared.boxes(box_stage), shared.weights[weights_stay ? chunk : turn % 2], totals);
        if constexpr (box_stages == 1) __syncthreads();
    }
    if constexpr (k_warps > 1) {
        if constexpr (box_stages > 1) __syncthreads();
        add_divided_sums(shared, totals);
    }
}

}  // namespace kiln
