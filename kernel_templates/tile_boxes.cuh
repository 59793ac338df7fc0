// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a chunk of box sums is built from global memory: boxes[(channel, ky, kx)][position]. For the families whose blocks have
// tiles of positions; each says in its sizes what `Shared` and `Boxes` are, and who builds: `building_threads`, of which each has
// its `building_thread()`.
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

/// A small window in the registers of one lane.
template <int vector>
struct SmallWindow {
    static constexpr int lead = (vector - padding_w % vector) % vector;  // pixels between the aligned load and the window
    static constexpr int groups = ceil_divide(lead + window_w, vector);
    float pixels[window_h][groups * vector];

    /// Its pixels; zeros in the padding, or if it is not `real`.
    __device__ __forceinline__ void load_pixels(const Window& window, bool is_real) {
#pragma unroll
        for (int row = 0; row < window_h; ++row) {
            const float* const from = window.pixels + static_cast<Index>(row) * window.width - lead;
            const bool row_inside =
                is_real && (padding_h == 0 || static_cast<unsigned>(window.row + row) < static_cast<unsigned>(window.height));
#pragma unroll
            for (int group = 0; group < groups; ++group) {
                const int column = window.column - lead + group * vector;
                const bool inside =
                    row_inside && (padding_w == 0 || static_cast<unsigned>(column) < static_cast<unsigned>(window.width));
#pragma unroll
                for (int each = 0; each < vector; ++each) pixels[row][group * vector + each] = 0;
                if (inside) load<vector>(from + group * vector, &pixels[row][group * vector]);
            }
        }
    }

    /// Its box sums, rows first and then columns.
    __device__ __forceinline__ void sum(float* sums) const {
        float row_sums[window_h * taps_w];
#pragma unroll
        for (int row = 0; row < window_h; ++row) {
            window_sums<pool_w, taps_w, stride_w, dilation_w>(&pixels[row][lead], row_sums + row * taps_w);
        }
#pragma unroll
        for (int kx = 0; kx < taps_w; ++kx) {
            window_sums<pool_h, taps_h, stride_h, dilation_h, taps_w>(row_sums + kx, sums + kx);
        }
    }
};

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

/// Where the window of a position starts. Positions past the end take the last one's: they are computed and not counted.
__device__ __forceinline__ Place locate_window(const ForwardArguments& arguments, Index position) {
    const Index positions_per_image = static_cast<Index>(arguments.pooled_height) * arguments.pooled_width;
    position = min(position, arguments.batch * positions_per_image - 1);
    const Index image = position / positions_per_image;
    const Index rest = position - image * positions_per_image;
    const int i = static_cast<int>(rest / arguments.pooled_width);
    const int j = static_cast<int>(rest - static_cast<Index>(i) * arguments.pooled_width);
    Place place;
    place.row = i * (stride_h * pool_h) - padding_h;
    place.column = j * (stride_w * pool_w) - padding_w;
    place.offset = (image * in_channels * arguments.height + place.row) * arguments.width + place.column;
    return place;
}

/// Which channels and taps a chunk has.
struct Chunk {
    int first_channel;
    int down, right;  // from a window's first pixel to that of these taps

    __device__ __forceinline__ explicit Chunk(int chunk) {
        const int tap_block = chunk % tap_blocks;
        first_channel = chunk / tap_blocks * chunk_channels;
        down = tap_block / tap_blocks_w * taps_h * dilation_h;
        right = tap_block % tap_blocks_w * taps_w * dilation_w;
    }
    /// Channels past the last one give zeros.
    __device__ __forceinline__ bool has(int channel) const {
        return in_channels % chunk_channels == 0 || first_channel + channel < in_channels;
    }
    __device__ __forceinline__ Window window(const ForwardArguments& arguments, const Place& place, int channel) const {
        const Index row = static_cast<Index>(first_channel + channel) * arguments.height + down;
        return {arguments.x + place.offset + row * arguments.width + right, place.row + down, place.column + right,
                arguments.height, arguments.width};
    }
};

/// The windows of a thread: those of the same few positions in every chunk; where positions are fewer than threads, of a part of
/// the channels.
struct ThreadWindows {
    static constexpr int positions_each = positions > building_threads ? positions / building_threads : 1;
    static constexpr int sharers = building_threads > positions ? building_threads / positions : 1;
    static constexpr int windows_each = positions_each * ceil_divide(chunk_channels, sharers);
    int thread = building_thread();

    __device__ __forceinline__ int position(int window) const {
        return positions > building_threads ? window % positions_each * building_threads + thread : thread % positions;
    }
    __device__ __forceinline__ int channel(int window) const { return window / positions_each * sharers + thread / positions; }
    /// Its own places, so that no barrier is needed.
    __device__ __forceinline__ Place& place(Shared& shared, int window) const {
        return shared.places[positions > building_threads ? position(window) : thread];
    }
    __device__ __forceinline__ void locate(Shared& shared, const ForwardArguments& arguments, Index begin) const {
#pragma unroll 1
        for (int each = 0; each < positions_each; ++each) {
            place(shared, each) = locate_window(arguments, begin + position(each));
        }
    }
};

/// Box sums of small windows, a lane each; several are loaded before the first is summed, so that more loads are in flight.
template <int vector>
__device__ __forceinline__ void build_small(Shared& shared, Boxes boxes, const ForwardArguments& arguments, const Chunk& chunk) {
    constexpr int windows = ThreadWindows::windows_each, most_at_once = static_cast<int>(spec::windows_at_once);
    constexpr int at_once = vector == widest_vector() || most_at_once < 2 ? most_at_once : 2;  // the fallback is kept short
    constexpr bool has_no_remainder = windows % at_once == 0 && chunk_channels % ThreadWindows::sharers == 0;
    const ThreadWindows mine;
#pragma unroll 1
    for (int first = 0; first < windows; first += at_once) {
        SmallWindow<vector> loaded[at_once];
#pragma unroll
        for (int each = 0; each < at_once; ++each) {
            const int channel = mine.channel(first + each);
            const bool is_real = (has_no_remainder || channel < chunk_channels) && chunk.has(channel);
            loaded[each].load_pixels(chunk.window(arguments, mine.place(shared, first + each), channel), is_real);
        }
#pragma unroll
        for (int each = 0; each < at_once; ++each) {
            const int channel = mine.channel(first + each);
            float sums[taps];
            loaded[each].sum(sums);
            if (!has_no_remainder && channel >= chunk_channels) continue;
#pragma unroll
            for (int tap = 0; tap < taps; ++tap) boxes[channel * taps + tap][mine.position(first + each)] = sums[tap];
        }
    }
}

/// Box sums of large windows, a group of lanes each, only for the positions that exist.
__device__ __forceinline__ void build_large(Boxes boxes, const ForwardArguments& arguments, Index begin, const Chunk& chunk) {
    const int thread = building_thread();
    const Index left = arguments.batch * arguments.pooled_height * arguments.pooled_width - begin;
#pragma unroll 1
    for (int pair = thread / window_lanes; pair < chunk_channels * positions; pair += building_threads / window_lanes) {
        const int position = pair % positions, channel = pair / positions;
        if (position >= left) continue;
        float sums[taps];
#pragma unroll
        for (int tap = 0; tap < taps; ++tap) sums[tap] = 0;
        if (chunk.has(channel)) {
            sum_large_window(chunk.window(arguments, locate_window(arguments, begin + position), channel), sums);
        }
        if (thread % window_lanes != 0) continue;
#pragma unroll
        for (int tap = 0; tap < taps; ++tap) boxes[channel * taps + tap][position] = sums[tap];
    }
}

/// A chunk's box sums; every thread has a part.
__device__ __forceinline__ void build_boxes(Shared& shared, Boxes boxes, const ForwardArguments& arguments, Index begin,
                                            const Chunk& chunk) {
    constexpr int vector = widest_vector();
    const bool is_vectored =
        vector > 1 && arguments.width % vector == 0 && reinterpret_cast<unsigned long long>(arguments.x) % (4 * vector) == 0;
    if constexpr (window_lanes > 1) {
        build_large(boxes, arguments, begin, chunk);
    } else if (is_vectored) {
        build_small<vector>(shared, boxes, arguments, chunk);
    } else {
        build_small<1>(shared, boxes, arguments, chunk);
    }
}

}  // namespace kiln
