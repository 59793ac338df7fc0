// SPDX-License-Identifier: Apache-2.0
#pragma once

// How weights come into shared memory, and with them a whole chunk.
namespace kiln {

/// One vector of weights on its way from global to shared memory.
template <int vector>
struct MovedWeights {
    float held[vector] = {};  // what a branch might leave undefined is carried around every loop outside, in registers

    __device__ __forceinline__ void load_from(const float* from) { load<vector>(from, held); }
    __device__ __forceinline__ void store_to(float* to) const {
        if constexpr (vector == 4) {
            *reinterpret_cast<float4*>(to) = make_float4(held[0], held[1], held[2], held[3]);
        } else {
            *to = *held;
        }
    }
};

/// Copies `floats` weights, of which the first `done` vectors of each thread are there already, some vectors at once.
template <int floats, int done, int at_once>
__device__ __forceinline__ void copy_weights(const float* from, float* to) {
    constexpr int vector = floats % 4 == 0 ? 4 : 1, step = threads * vector;
#pragma unroll 1
    for (int first = done * step + thread_index() * vector; first < floats; first += at_once * step) {
        MovedWeights<vector> moved[at_once];
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            if (first + i * step < floats) moved[i].load_from(from + first + i * step);
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            if (first + i * step < floats) moved[i].store_to(to + first + i * step);
        }
    }
}

/// A chunk's box sums, and its weights for a tile of filters unless they stay. Every thread has a part.
__device__ __forceinline__ void build_chunk(Shared& shared, const ForwardArguments& arguments, Index begin, int filter_tile,
                                            int chunk) {
    constexpr int floats = chunk_k * filters;
    const float* const weights =
        static_cast<const float*>(arguments.weights) + (static_cast<Index>(filter_tile) * chunks + chunk) * floats;
    // A thread's first vector of weights is loaded before the box sums are made, and stored after them.
    constexpr int weight_vector = floats % 4 == 0 ? 4 : 1;
    const int first_weight = thread_index() * weight_vector;
    MovedWeights<weight_vector> moved;
    if (!weights_stay && first_weight < floats) moved.load_from(weights + first_weight);
    // One chunk is all: its box sums serve every tile of filters.
    if (chunks > 1 || filter_tile <= shared.share.first_filter_tile) {
        build_boxes(shared, shared.boxes, arguments, begin, Chunk(chunk));
    }
    if constexpr (!weights_stay) {
        if (first_weight < floats) moved.store_to(shared.weights + first_weight);
        copy_weights<floats, 1, 4>(weights, shared.weights);
    }
}

}  // namespace kiln
