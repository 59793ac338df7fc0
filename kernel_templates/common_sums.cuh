// SPDX-License-Identifier: Apache-2.0
#pragma once

// Activation, and sums whose error does not grow with their length.
namespace kiln {

__device__ __forceinline__ float exp2_approximate(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

__device__ __forceinline__ float reciprocal_approximate(float x) {
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

/// The activation of a logit as the accumulators hold it. For sigmoid -log2(e) is folded into weights and bias, so that
/// sigmoid(z) = 1/(1 + 2^logit); +inf gives 0, -inf gives 1 and NaN stays NaN. Relative error below 2^-21.
__device__ __forceinline__ float activate(float logit) {
    if constexpr (spec::is_sigmoid != 0) {
        return reciprocal_approximate(1.0f + exp2_approximate(logit));
    } else {
        return logit;
    }
}

/// Sums `count` values as a balanced tree: ceil(log2(count)) roundings on any path.
template <int count>
__device__ __forceinline__ float pairwise_sum(const float* values) {
    if constexpr (count == 1) {
        return values[0];
    } else {
        return pairwise_sum<count / 2>(values) + pairwise_sum<count - count / 2>(values + count / 2);
    }
}

/// The sum over each group of `lanes` neighbouring lanes (a power of two), in every lane of the group, in a fixed order.
/// All 32 lanes must call it with the same `lanes`.
__device__ __forceinline__ double lane_group_sum(double value, int lanes = 32) {
#pragma unroll 1
    for (int offset = lanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

}  // namespace kiln
