// SPDX-License-Identifier: Apache-2.0
#pragma once

// Box sums of a chunk: boxes[(channel, ky, kx)][position], from global memory.
namespace kiln {

/// The widest vector in which every window's rows can be loaded, if x and the width allow it.
__host__ __device__ constexpr int widest_vector() {
    int step = stride_w * pool_w;
    if (tap_blocks_w > 1) step |= taps_w * dilation_w;
    return step % 4 == 0 ? 4 : step % 2 == 0 ? 2 : 1;
}

/// One channel and block of taps, seen from one position.
struct Window {
    const float* pixels;  // its first pixel; not to be read where that lies in the padding
    int row, column;      // of the first pixel
    int height, width;    // of the image
};

template <int vector>
__device__ __forceinline__ void load(const float* from, float* to) {
    if constexpr (vector == 4) {
        const float4 loaded = __ldg(reinterpret_cast<const float4*>(from));
        to[0] = loaded.x, to[1] = loaded.y, to[2] = loaded.z, to[3] = loaded.w;
    } else if constexpr (vector == 2) {
        const float2 loaded = __ldg(reinterpret_cast<const float2*>(from));
        to[0] = loaded.x, to[1] = loaded.y;
    } else {
        to[0] = __ldg(from);
    }
}

/// The box sums of one small window, by one lane, in registers: rows first, then columns.
template <int vector>
__device__ __forceinline__ void sum_small_window(const Window& window, float* sums) {
    constexpr int lead = (vector - padding_w % vector) % vector;  // pixels between the aligned load and the window
    constexpr int groups = ceil_divide(lead + window_w, vector);
    float row_sums[window_h * taps_w];
#pragma unroll
    for (int row = 0; row < window_h; ++row) {
        const float* const from = window.pixels + static_cast<Index>(row) * window.width - lead;
        const bool row_inside = padding_h == 0 || static_cast<unsigned>(window.row + row) < static_cast<unsigned>(window.height);
        float values[groups * vector];
#pragma unroll
        for (int group = 0; group < groups; ++group) {
            const int column = window.column - lead + group * vector;
            const bool inside =
                row_inside && (padding_w == 0 || static_cast<unsigned>(column) < static_cast<unsigned>(window.width));
#pragma unroll
            for (int each = 0; each < vector; ++each) values[group * vector + each] = 0;
            if (inside) load<vector>(from + group * vector, values + group * vector);
        }
        window_sums<pool_w, taps_w, stride_w, dilation_w>(values + lead, row_sums + row * taps_w);
    }
#pragma unroll
    for (int kx = 0; kx < taps_w; ++kx) {
        window_sums<pool_h, taps_h, stride_h, dilation_h, taps_w>(row_sums + kx, sums + kx);
    }
}

/// How many of a large window's lanes lie along a row: a power of two.
__host__ __device__ constexpr int lanes_along_row() {
    int lanes = 1;
    while (lanes < pool_w && lanes < window_lanes) lanes *= 2;
    return lanes;
}

/// The box sums of one window of any size, by `window_lanes` neighbouring lanes that stride over it; every lane gets all of them.
/// A lane sums its part of a row, then its rows, then the lanes are added: no more than pool_h + pool_w roundings where windows
/// are large.
__device__ __forceinline__ void sum_large_window(const Window& window, float* sums) {
    constexpr int lanes_w = lanes_along_row(), lanes_h = window_lanes / lanes_w;
    const int lane = static_cast<int>(threadIdx.x) % window_lanes;
#pragma unroll
    for (int tap = 0; tap < taps; ++tap) sums[tap] = 0;

    // One row of taps skips the rows that it does not use; several share nearly all of them.
    constexpr int row_step = taps_h == 1 ? stride_h : 1;
#pragma unroll 1
    for (int row = lane / lanes_w * row_step; row < window_h; row += lanes_h * row_step) {
        if (padding_h > 0 && static_cast<unsigned>(window.row + row) >= static_cast<unsigned>(window.height)) continue;
        const float* const from = window.pixels + static_cast<Index>(row) * window.width;
        float row_sums[taps_w];
#pragma unroll
        for (int kx = 0; kx < taps_w; ++kx) row_sums[kx] = 0;
#pragma unroll 2
        for (int dx = lane % lanes_w; dx < pool_w; dx += lanes_w) {
#pragma unroll
            for (int kx = 0; kx < taps_w; ++kx) {
                const int column = dx * stride_w + kx * dilation_w;
                const bool inside =
                    padding_w == 0 || static_cast<unsigned>(window.column + column) < static_cast<unsigned>(window.width);
                row_sums[kx] += inside ? __ldg(from + column) : 0.0f;
            }
        }
#pragma unroll
        for (int ky = 0; ky < taps_h; ++ky) {
            const int down = row - ky * dilation_h;  // stride_h·dy, where this tap uses this row
            const bool uses = down >= 0 && down < pool_h * stride_h && down % stride_h == 0;
#pragma unroll
            for (int kx = 0; kx < taps_w; ++kx) sums[ky * taps_w + kx] += uses ? row_sums[kx] : 0.0f;
        }
    }
    const unsigned group = (0xffffffffu >> (32 - window_lanes)) << (threadIdx.x % 32 / window_lanes * window_lanes);
#pragma unroll
    for (int tap = 0; tap < taps; ++tap) {
#pragma unroll
        for (int offset = window_lanes / 2; offset > 0; offset /= 2) {
            sums[tap] += __shfl_xor_sync(group, sums[tap], offset);
        }
    }
}

/// Fills `shared.boxes` for one chunk and the tile's `count` positions: the threads take (channel, position) pairs in turn.
/// Channels past the last give zeros.
template <int vector>
__device__ __forceinline__ void build_boxes(Shared& shared, const ForwardArguments& arguments, int chunk, int count) {
    const int first_channel = chunk / tap_blocks * chunk_channels, tap_block = chunk % tap_blocks;
    const int down = tap_block / tap_blocks_w * taps_h * dilation_h;  // from the window's first pixel to that of these taps
    const int right = tap_block % tap_blocks_w * taps_w * dilation_w;
    const Index plane = static_cast<Index>(arguments.height) * arguments.width;
    const float* const block = arguments.x + first_channel * plane + static_cast<Index>(down) * arguments.width + right;
#pragma unroll 1
    for (int pair = static_cast<int>(threadIdx.x) / window_lanes; pair < chunk_channels * positions;
         pair += threads / window_lanes) {
        const int position = pair % positions, channel = pair / positions;
        if (window_lanes > 1 && position >= count) continue;  // masked later, and too dear to compute
        float sums[taps];
        if (in_channels % chunk_channels == 0 || first_channel + channel < in_channels) {
            Window window{block + shared.origins[position] + channel * plane, 0, 0, arguments.height, arguments.width};
            if constexpr (is_padded) {
                window.row = shared.corners[position][0] + down;
                window.column = shared.corners[position][1] + right;
            }
            if constexpr (window_lanes == 1) {
                sum_small_window<vector>(window, sums);
            } else {
                sum_large_window(window, sums);
            }
        } else {
#pragma unroll
            for (int tap = 0; tap < taps; ++tap) sums[tap] = 0;
        }
#pragma unroll
        for (int tap = 0; tap < taps; ++tap) {
            if (window_lanes == 1 || static_cast<int>(threadIdx.x) % window_lanes == tap % window_lanes) {
                shared.boxes[channel * taps + tap][position] = sums[tap];
            }
        }
    }
}

}  // namespace kiln
