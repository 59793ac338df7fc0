// SPDX-License-Identifier: Apache-2.0
#pragma once

// Places that are used in turn, and divisions of numbers that rarely need 64 bits.
namespace kiln {

/// a / b for non-negative numbers, which rarely need 64 bits.
__device__ __forceinline__ Index divide(Index a, Index b) {
    if (((a | b) >> 32) == 0) return static_cast<unsigned>(a) / static_cast<unsigned>(b);
    return a / b;
}

/// The same in fewer registers, bit by bit where 64 bits are needed: for kernels that have none left. Others get more by it.
__device__ __forceinline__ Index divide_in_few_registers(Index a, Index b) {
    if (((a | b) >> 32) == 0) return static_cast<unsigned>(a) / static_cast<unsigned>(b);
    unsigned long long quotient = a, remainder = 0, divisor = b;
#pragma unroll 1
    for (int bit = 0; bit < 64; ++bit) {
        remainder = remainder << 1 | quotient >> 63;
        quotient <<= 1;
        if (remainder >= divisor) {
            remainder -= divisor;
            ++quotient;
        }
    }
    return static_cast<Index>(quotient);
}

/// A place of several used in turn: its index, and the parity of the barrier's phase that it waits for.
template <int places>
struct Turn {
    int index = 0;
    unsigned parity = 0;

    __device__ __forceinline__ void advance() {
        if (++index == places) {
            index = 0;
            parity ^= 1;
        }
    }
};

/// The same in one register: how often a place has been used.
template <int places>
struct Count {
    unsigned count = 0;

    __device__ __forceinline__ unsigned index() const { return count % places; }
    __device__ __forceinline__ unsigned parity() const { return count / places % 2; }
    __device__ __forceinline__ void advance() { ++count; }
};

}  // namespace kiln
