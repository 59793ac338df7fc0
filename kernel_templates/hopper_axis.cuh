// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the spec alone fixes: the box map of the linear rewrite, one dimension at a time.
namespace kiln {

constexpr int taps = kernel_h * kernel_w;
static_assert(spec::has_bias == 0 || spec::has_bias == 1);  // without a bias the packed ones are zero

__host__ __device__ constexpr int greatest_common_divisor(int a, int b) {
    return b == 0 ? a : greatest_common_divisor(b, a % b);
}

/// One dimension of the box map. Tap k of pooled position i reads the box at step·i + dilation·k, so of every `step` boxes only
/// those with the taps' residues are made. Boxes of one residue are a phase: there, tap k reads `shift(k)` places after its
/// position's own. Either all taps are within one step, or all multiples of a number are residues; the family leaves the rest to
/// others.
template <int taps, int step_, int dilation>
struct Axis {
    static constexpr int step = step_;
    static constexpr int reach = dilation * (taps - 1) / step;
    static constexpr int divisor = reach == 0 ? dilation : greatest_common_divisor(dilation, step);
    static constexpr int phases = reach == 0 ? taps : step / divisor;
    static_assert(phases <= taps);

    __host__ __device__ static constexpr int shift(int tap) { return dilation * tap / step; }
    __host__ __device__ static constexpr int phase_of(int tap) { return dilation * tap % step / divisor; }
    __host__ __device__ static constexpr int residue(int phase) { return divisor * phase; }
    /// The largest shift of a phase's taps: `reach`, or one less.
    __host__ __device__ static constexpr int reach_of(int phase) {
        int last = 0;
        for (int tap = 0; tap < taps; ++tap) last = phase_of(tap) == phase && shift(tap) > last ? shift(tap) : last;
        return last;
    }
};
using Rows = Axis<kernel_h, stride_h * pool_h, dilation_h>;
using Columns = Axis<kernel_w, stride_w * pool_w, dilation_w>;
constexpr int phases_h = Rows::phases, phases_w = Columns::phases;
constexpr int reach_h = Rows::reach;

// The pixels that one position's taps use, in lines and in columns.
constexpr int window_h = stride_h * (pool_h - 1) + dilation_h * (kernel_h - 1) + 1;
constexpr int window_w = stride_w * (pool_w - 1) + dilation_w * (kernel_w - 1) + 1;

}  // namespace kiln
