// SPDX-License-Identifier: Apache-2.0
#pragma once

// Box sums of two neighbouring positions, in registers: each pixel is read from the ring once for all taps that need it.
namespace kiln {

/// Reads a vector, or the first `count` of its floats.
template <int count>
__device__ __forceinline__ void read_vector(const unsigned char* source, float* values) {
    if constexpr (vector == 4 && count > 2) {
        const float4 four = *reinterpret_cast<const float4*>(source);
        values[0] = four.x;
        values[1] = four.y;
        values[2] = four.z;
        if (count > 3) values[3] = four.w;
    } else if constexpr (count > 1) {
        const float2 two = *reinterpret_cast<const float2*>(source);
        values[0] = two.x;
        values[1] = two.y;
    } else {
        values[0] = *reinterpret_cast<const float*>(source);
    }
}

/// What each tap of the kernel's row sees of one input row: sums over the pool's width, for the lane's two positions.
struct RowSums {
    float of[2][kernel_w];

    __device__ __forceinline__ void make(const float* pixels) {
        window_sums<pool_w, kernel_w, stride_w, dilation_w>(pixels, of[0]);
        window_sums<pool_w, kernel_w, stride_w, dilation_w>(pixels + column_step, of[1]);
    }
    __device__ __forceinline__ void add(const RowSums& other) {
#pragma unroll
        for (int i = 0; i < 2 * kernel_w; ++i) of[i / kernel_w][i % kernel_w] += other.of[i / kernel_w][i % kernel_w];
    }
};

// Rows arrive one by one and go into all boxes that hold them. Where a pool is at least as high as the kernel, and the kernel's
// rows see neighbouring input rows, all boxes share the rows in the middle (for a pool of 4 and 3 taps: rows 2 and 3 of 0 … 5):
//
//   row      0   1   2   3   4   5         left rows are kept until the middle is complete; then
//   tap 0   [left    middle ]              boxes grow: to the left from the middle, to the right
//   tap 1       [           ]              by running sums. 6 additions for three boxes of four rows.
//   tap 2           [middle  right ]
constexpr bool shares_middle = stride_h == 1 && (dilation_h == 1 || kernel_h == 1) && pool_h >= kernel_h;
constexpr int side_rows = kernel_h - 1;
constexpr int most_kept = larger(1, kept_rows);

// Where the middle's rows are a multiple of the kept ones, and all of these fit into registers at once, one loop reads them all.
constexpr bool sums_groups =
    shares_middle && kept_rows > 0 && kept_rows % stage_rows == 0 &&
    (pool_h - side_rows) % larger(1, kept_rows) == 0 && pool_h > side_rows&& lane_channels* kept_rows * 2 * kernel_w <= 24;
constexpr int middle_groups = sums_groups ? (pool_h - side_rows) / kept_rows : 0;

/// The boxes of one channel: tap (ky, kx) of position p is at of[ky].of[p][kx].
struct Boxes {
    RowSums of[kernel_h];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < 2 * taps; ++i) of[i / 2 / kernel_w].of[i % 2][i / 2 % kernel_w] = 0;
    }
    /// A row in the middle; `is_first` of them.
    __device__ __forceinline__ void add_middle(const RowSums& row, bool is_first) {
        if (is_first) {
            of[side_rows] = row;
        } else {
            of[side_rows].add(row);
        }
    }
    /// Once the middle is complete.
    __device__ __forceinline__ void add_left(const RowSums* left) {
#pragma unroll
        for (int ky = side_rows - 1; ky >= 0; --ky) {
            of[ky] = of[ky + 1];
            of[ky].add(left[ky]);
        }
    }
    /// Once the left rows are added; `running`: the sum of the right rows so far.
    __device__ __forceinline__ void add_right(const RowSums& row, int index, RowSums& running) {
        if (index == 0) {
            running = row;
        } else {
            running.add(row);
        }
        of[index + 1].add(running);
    }
    /// Any row of any kernel and pool.
    __device__ __forceinline__ void add_row(const RowSums& row, int index) {
#pragma unroll
        for (int ky = 0; ky < kernel_h; ++ky) {
            const int offset = index - dilation_h * ky;
            if (offset < 0 || offset % stride_h != 0 || offset / stride_h >= pool_h) continue;
            if (offset == 0) {
                of[ky] = row;
            } else {
                of[ky].add(row);
            }
        }
    }
};

}  // namespace kiln
