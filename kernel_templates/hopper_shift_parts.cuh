// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where blocks share a unit's chunks of channels: each has a part of its logits, and the last to come adds them up. Nobody waits,
// so the blocks need not run at the same time.
namespace kiln {

/// The parts' place in the scratch, behind the slots of the images' sums.
__device__ __forceinline__ float4* parts_in(const ForwardArguments& arguments, const Layout& layout) {
    const Index slots = arguments.batch * layout.strips * layout.strip_tiles(arguments.pooled_height) * filter_tiles;
    return reinterpret_cast<float4*>(static_cast<double*>(arguments.partials) + (slots + 1) / 2 * 2);
}

/// All consumers: hands in the block's part. If it is the last of its unit's, `sums` become those of all parts, added in the
/// order of the channels, and the finishing warp is told so; else they are of no more use.
template <int count>
__device__ __forceinline__ void add_parts(float (&sums)[count], const ForwardArguments& arguments, const Share& share,
                                          unsigned char* shared) {
    griddepcontrol_wait();
    const unsigned splits = Share::splits_of(arguments);
    float4* const parts =
        parts_in(arguments, Layout(arguments)) + static_cast<Index>(share.first) * splits * (count / 4 * consumer_threads);
    float4* const own = parts + Share::part_of(arguments) * (count / 4 * consumer_threads) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < count / 4; ++i) {
        __stcg(own + i * consumer_threads, make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]));
    }
    barrier_sync(2, consumer_threads);
    volatile int* const is_last = reinterpret_cast<volatile int*>(shared + last_at);
    if (threadIdx.x == 0) {
        unsigned* const counter = static_cast<unsigned*>(arguments.counters) + arguments.batch + share.first;
        *is_last = atom_inc_acq_rel(counter, splits - 1) == splits - 1;  // after all threads' parts, by the barrier
    }
    barrier_sync(2, consumer_threads);
    if (*is_last == 0) return;
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] = 0;
#pragma unroll 1
    for (unsigned part = 0; part < splits; ++part) {
        const float4* const from = parts + part * (count / 4 * consumer_threads) + threadIdx.x;
#pragma unroll
        for (int i = 0; i < count / 4; ++i) {
            const float4 values = __ldcg(from + i * consumer_threads);
            sums[4 * i] += values.x, sums[4 * i + 1] += values.y;
            sums[4 * i + 2] += values.z, sums[4 * i + 3] += values.w;
        }
    }
}

}  // namespace kiln
