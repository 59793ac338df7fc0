// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a run-time shape is laid over the blocks: strips of columns, streams of rows, slots of the ring.
//
//   pooled map of an image, as strips of `blocks`·16 columns        a block's warps
//     +----------+----------+----------+                              stream 0: blocks 0 1 2 …   \  each stream walks down its
//     own |          |          |          |                              stream 1: blocks 0 1 2 …    | run of units, `blocks`
//     warps |  strip 0 |  strip 1 |  strip 2 |  a unit: a pooled row        …                          /  side by side | | | | of
//     a strip
//     +----------+----------+----------+
//
// Units are counted down a strip, then along the strips, then through the images; a run is a contiguous range of them.
namespace kiln {

/// a / b, rounded down, for 0 <= a < 2^20 and 1 <= b: the half keeps the rounded quotient away from whole numbers by more than
/// its error.
__device__ __forceinline__ int small_quotient(int a, int b) {
    return static_cast<int>((static_cast<float>(a) + 0.5f) * reciprocal_approximate(static_cast<float>(b)));
}

/// 1 / x to about 20 bits.
__device__ __forceinline__ double reciprocal_gross(double x) {
    double result;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(x));
    return result;
}

/// a / b, rounded down, for 0 <= a < 2^50 and 1 <= b: likewise, in double, where two of Newton's steps make the gross reciprocal
/// exact to the last bit but one. The compiler's division of 64 bits takes it longer than the products do.
__device__ __forceinline__ Index quotient(Index a, int b) {
    const double divisor = b;
    double reciprocal = reciprocal_gross(divisor);
#pragma unroll
    for (int step = 0; step < 2; ++step) reciprocal = fma(fma(-divisor, reciprocal, 1.0), reciprocal, reciprocal);
    return static_cast<Index>((static_cast<double>(a) + 0.5) * reciprocal);
}

/// What the host worked out for the shape (StreamLayout::words in src/model/families/hopper_stream_tile.cpp): divisions that
/// depend on one another would keep a block from asking for its first rows. Read where it is used, from the constant bank.
struct Layout {
    const ForwardArguments& arguments;

    __device__ __forceinline__ int low(int word) const { return static_cast<int>(arguments.layout[word]); }
    __device__ __forceinline__ int high(int word) const { return static_cast<int>(arguments.layout[word] >> 32); }

    __device__ __forceinline__ int pitch() const { return low(0); }  // of a slot's rows, in floats
    __device__ __forceinline__ int channel_bytes() const { return high(0); }
    __device__ __forceinline__ int slot_bytes() const { return low(1); }
    __device__ __forceinline__ int slots() const { return high(1); }  // of each stream
    __device__ __forceinline__ int blocks() const { return low(2); }
    __device__ __forceinline__ int strips() const { return high(2); }
    __device__ __forceinline__ int runs() const { return low(3); }
    __device__ __forceinline__ int longer() const { return high(3); }                // the first so many runs have one unit more
    __device__ __forceinline__ Index length() const { return arguments.layout[4]; }  // of the other runs, in units
    __device__ __forceinline__ int most_streams() const { return low(5); }           // of a block
    __device__ __forceinline__ bool may_bulk() const { return (high(5) & 1) != 0; }  // the copy engine can, if x is aligned
    /// A channel's rows lie together, in memory and in the slot.
    __device__ __forceinline__ bool rows_together() const { return (high(5) & 2) != 0; }

    /// Where blocks have whole images to themselves, how many (at most `most_pending`), and their units: runs are then a block's
    /// own, stream by stream. Otherwise zero.
    __device__ __forceinline__ int own_images() const { return low(6); }
    __device__ __forceinline__ int own_units() const { return high(6); }

    /// Streams of this block that have a run. Run r belongs to stream r / grid of block r mod grid: where there are few, they
    /// spread over the blocks.
    __device__ __forceinline__ int streams() const {
        if (own_images() != 0) return most_streams();
        const int last_run = (most_streams() - 1) * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
        return most_streams() - (last_run < runs() ? 0 : 1);
    }
    __device__ __forceinline__ int run_of(int stream) const {
        return own_images() != 0 ? stream : stream * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
    }
    __device__ __forceinline__ Index begin(int run) const {
        return static_cast<Index>(blockIdx.x) * own_units() + run * length() + smaller(run, longer());
    }
    __device__ __forceinline__ int units(int run) const { return static_cast<int>(length()) + (run < longer() ? 1 : 0); }
    /// The run that has this unit.
    __device__ __forceinline__ int run_with(Index unit) const {
        const Index in_longer = longer() * (length() + 1);
        const bool is_longer = unit < in_longer;
        return (is_longer ? 0 : longer()) +
               static_cast<int>(quotient(is_longer ? unit : unit - in_longer, static_cast<int>(length()) + (is_longer ? 1 : 0)));
    }

    /// The bytes that threads may copy at a time: 16, 8 or 4.
    __device__ __forceinline__ int word_bytes() const {
        const auto address = reinterpret_cast<unsigned long long>(arguments.x);
        const int alignment = static_cast<int>(address | 4ull * static_cast<unsigned>(arguments.width));
        return alignment % 16 == 0 ? 16 : alignment % 8 == 0 ? 8 : 4;
    }
    __device__ __forceinline__ bool is_bulk() const {
        return may_bulk() && reinterpret_cast<unsigned long long>(arguments.x) % 16 == 0;
    }
    /// Where a stream's ring starts, from the start of shared memory.
    __device__ __forceinline__ int ring_of(int stream) const { return ring_offset + stream * slots() * slot_bytes(); }
    /// log2 of how many producer warps share a stream's stages.
    __device__ __forceinline__ int parts_log2() const {
        const int count = streams();
        return count <= 1 ? 2 : count == 2 ? 1 : 0;
    }
};

/// Where a stream is on its run.
struct Walk {
    Index image = 0;
    int strip = 0;
    int row = 0;           // of the pooled map
    int units = 0;         // left, from here on
    bool is_fresh = true;  // nothing is kept from a unit above

    __device__ __forceinline__ void start(const ForwardArguments& arguments, const Layout& layout, int run) {
        const Index begin = layout.begin(run);
        units = layout.units(run);
        if (layout.own_images() != 0) {  // of the last block's images some may not exist
            const Index end = arguments.batch * layout.strips() * arguments.pooled_height;
            units = begin < end ? static_cast<int>(min(end - begin, static_cast<Index>(units))) : 0;
        }
        const Index column = quotient(begin, arguments.pooled_height);
        row = static_cast<int>(begin - column * arguments.pooled_height);
        image = layout.strips() == 1 ? column : quotient(column, layout.strips());
        strip = static_cast<int>(column - image * layout.strips());
    }

    /// `count` units on; not past the strip's end.
    __device__ __forceinline__ void advance(const ForwardArguments& arguments, const Layout& layout, int count) {
        units -= count;
        row += count;
        is_fresh = row == arguments.pooled_height;
        if (is_fresh) {
            row = 0;
            if (++strip == layout.strips()) {
                strip = 0;
                ++image;
            }
        }
    }
};

/// What a consumer warp seldom needs: in shared memory, because its registers hold fragments.
struct Station {
    Walk walk;  // where the current segment starts
    int run;
    int block;
    // Sums of images that this warp is done with, until the stream's warps bring them to the other blocks' together: a meeting
    // takes a microsecond or more, for which the whole block would wait.
    int pending;
    double totals[most_pending];
    Index images[most_pending];
};

// Shared memory: the weights' barrier, the warps' stations; weights and bias; the rings.
// Each stream has a ring of slots of its own. A slot begins with its barriers `full` and `empty`, 8 bytes each.
constexpr int weights_barrier_offset = 0;
constexpr int stations_offset = 16;
static_assert(sizeof(Station) == station_bytes);

}  // namespace kiln
