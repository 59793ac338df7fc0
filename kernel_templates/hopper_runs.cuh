// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs of pixels on their way into shared memory, by bulk copies.
namespace kiln {

/// Pixels of one channel that lie together in memory.
struct __align__(16) Run {
    Index source;  // in channel 0, from the start of x
    int target;    // in a channel's pixels, but for the alignment
    int count;
};
static_assert(sizeof(Run) == 16);

/// x as a number of floats, modulo 2^32: for alignments.
__device__ __forceinline__ unsigned address_of(const float* x) {
    return static_cast<unsigned>(reinterpret_cast<unsigned long long>(x) >> 2);
}

/// How far a channel's pixels begin after the start of their place, so that their address there has the same remainder modulo 4
/// as in x, and all between aligned addresses can be copied as it is. `source`: the address in channel 0.
__device__ __forceinline__ int alignment(const ForwardArguments& arguments, unsigned source, int input_channel) {
    return static_cast<int>(source + static_cast<unsigned>(input_channel) * arguments.height * arguments.width) & 3;
}

/// Copies the `count` pixels from x[at] on to an equally aligned place. What the ends share 16 bytes with comes along; at the
/// ends of x, `all` pixels, which nothing may be read past, single pixels are copied.
__device__ __forceinline__ void fetch_run(const float* x, Index all, Index at, int count, float* to, unsigned full) {
    const int before = static_cast<int>(address_of(x + at) & 3);
    int first = -before;  // of what is copied at once
    int floats = (before + count + 3) / 4 * 4;
    if (at < before) {
#pragma unroll 1
        for (int i = 0; i < 4 - before && i < count; ++i) to[i] = x[at + i];
        first += 4, floats -= 4;
    }
    if (floats > 0 && at + first + floats > all) {
        floats -= 4;
#pragma unroll 1
        for (int i = first + floats; at + i < all; ++i) to[i] = x[at + i];
    }
    if (floats <= 0) return;
    mbarrier_expect_tx(full, floats * 4);
    cp_async_bulk(shared_address(to + first), x + at + first, floats * 4, full);
}

}  // namespace kiln
