// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a thread has of a tile, as logits and then as sums over filters.
namespace kiln {

using ThreadSums = float[thread_positions][thread_filters];

__device__ __forceinline__ void clear(ThreadSums& sums) {
#pragma unroll
    for (int i = 0; i < thread_positions; ++i) {
#pragma unroll
        for (int j = 0; j < thread_filters; ++j) sums[i][j] = 0;
    }
}

/// Bias, activation, and the sum over the thread's filters, of those that `is_real(j)`: one value for each of its positions.
template <typename IsReal>
__device__ __forceinline__ void sum_activated(const ThreadSums& totals, const float (&filter_bias)[thread_filters],
                                              IsReal is_real, float (&sums)[thread_positions]) {
#pragma unroll
    for (int i = 0; i < thread_positions; ++i) {
        float values[thread_filters];
#pragma unroll
        for (int j = 0; j < thread_filters; ++j) {
            const float value = activate(spec::has_bias ? totals[i][j] + filter_bias[j] : totals[i][j]);
            values[j] = is_real(j) ? value : 0.0f;
        }
        sums[i] = pairwise_sum<thread_filters>(values);
    }
}

}  // namespace kiln
