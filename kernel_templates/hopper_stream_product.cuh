// SPDX-License-Identifier: Apache-2.0
#pragma once

// Boxes as operand A of the tensor cores, and the products. Columns of A:
//
//   k-step j, column t (+ 4): value 2j (+ 1) of lane t, where value v is tap v mod taps of the lane's channel v / taps
//
// so that each lane makes what it holds, and no box goes through shared memory. Three TF32 products stand for one of fp32:
// x = large + small, large rounded to TF32; small·large and large·small come before large·large, so that the tensor cores'
// truncating adder drops bits of a small sum for as long as possible.
namespace kiln {

/// To TF32, ties away from zero. A NaN stays one.
__device__ __forceinline__ unsigned round_to_tf32(float value) {
    const unsigned rounded = (__float_as_uint(value) + 0x1000u) & 0xffffe000u;
    if constexpr (is_tf32) return value == value ? rounded : 0x7fffffffu;  // in fp32 the small part carries the NaN
    return rounded;
}

/// A lane's part of A, and what rounding left.
struct Fragments {
    unsigned large[k_steps][4];
    unsigned small[is_tf32 ? 1 : k_steps][4];

    __device__ __forceinline__ void make(const Boxes (&boxes)[lane_channels]) {
#pragma unroll
        for (int i = 0; i < 4 * k_steps; ++i) {
            const int step = i / 4;
            const int position = i % 2;
            const int value = 2 * step + i / 2 % 2;
            float box = 0;
            if (value < lane_values) {
                const int tap = value % taps;
                box = boxes[value / taps].of[tap / kernel_w].of[position][tap % kernel_w];
            }
            large[step][i % 4] = round_to_tf32(box);
            if constexpr (!is_tf32) {
                small[step][i % 4] = __float_as_uint(box - __uint_as_float(large[step][i % 4]));
                asm volatile("" : "+r"(small[step][i % 4]));
            }
            // In registers here, before wgmma's fence, not when the compiler would like to make them.
            asm volatile("" : "+r"(large[step][i % 4]));
        }
    }
};

/// The lower half of the first operand's descriptor; the others differ from it in nothing else.
__device__ __forceinline__ unsigned first_operand(unsigned weights) {
    return static_cast<unsigned>(wgmma_descriptor(weights, 16 * filters, 128));
}

/// chain += A · B of a k-step: the weights rounded (part 0), or what rounding left (part 1).
__device__ __forceinline__ void multiply(const unsigned (&a)[4], unsigned weights, int step, int part, bool accumulate) {
    constexpr unsigned upper_half = wgmma_descriptor(0, 16 * filters, 128) >> 32;
    wgmma_chain_k8_tf32<filters, upper_half>(a, weights, (step * step_bytes + part * operand_bytes) >> 4, accumulate);
}

/// Starts the products of k-steps [first, last) with the weights of a tile of filters; the chain begins at zero.
__device__ __forceinline__ void start_products(const Fragments& fragments, unsigned weights, int first, int last) {
    wgmma_fence();
    if constexpr (!is_tf32) {
#pragma unroll
        for (int step = first; step < last; ++step) {
            multiply(fragments.large[step], weights, step, 1, step > first);
            multiply(fragments.small[step], weights, step, 0, true);
        }
    }
#pragma unroll
    for (int step = first; step < last; ++step) multiply(fragments.large[step], weights, step, 0, !is_tf32 || step > first);
    wgmma_commit_group();
}

}  // namespace kiln
