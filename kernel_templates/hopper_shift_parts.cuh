// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where blocks share a unit's chunks of channels: each has a part of its logits. Pairs of them are clusters, whose blocks hand
// each other half of what they have: the pair's sums of 64 filters end in each. The pairs meet in the scratch, for either half
// the last to come adding up. Nobody waits for another cluster, so these need not run at the same time.
namespace kiln {

/// The parts' place in the scratch, behind the slots of the images' sums.
__device__ __forceinline__ float4* parts_in(const ForwardArguments& arguments, const Layout& layout) {
    const Index slots = arguments.batch * layout.strips * layout.strip_tiles(arguments.pooled_height) * filter_tiles * 2;
    return reinterpret_cast<float4*>(static_cast<double*>(arguments.partials) + slots);
}

/// Every warp but the consumers', which meet in the meantime: their barriers are the whole cluster's.
__device__ __forceinline__ void let_pair_meet() {
    __syncwarp();
    barrier_cluster_arrive();
    barrier_cluster_wait();
    barrier_cluster_arrive();
}

/// All consumers: those of the block's half get the pair's sums. Before a block ends it waits until its sums have been read
/// (barrier_cluster_wait).
template <int count>
__device__ __forceinline__ void add_pair(float (&sums)[count], bool has_half, unsigned rank, const unsigned char* shared) {
    const unsigned exchange = shared_address(shared + maps_at) + 16 * (threadIdx.x % 128);
    barrier_sync(2, consumer_threads);  // the maps are no longer read
    if (!has_half) {
#pragma unroll
        for (int i = 0; i < count / 4; ++i) {
            st_shared(exchange + i * 16 * 128, make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]));
        }
    }
    barrier_cluster_arrive();
    barrier_cluster_wait();
    if (has_half) {
        const unsigned other = mapa(exchange, rank ^ 1);
#pragma unroll
        for (int i = 0; i < count / 4; ++i) {
            const float4 values = ld_shared_cluster(other + i * 16 * 128);
            sums[4 * i] += values.x, sums[4 * i + 1] += values.y;  // the same in either order
            sums[4 * i + 2] += values.z, sums[4 * i + 3] += values.w;
        }
    }
    barrier_cluster_arrive();
}

/// The consumers of a block's half: hand in the pair's sums. If they are the last of the half's, `sums` become those of all
/// pairs, added in the order of the channels, and the finishing warp is told so; else they are of no more use.
template <int count>
__device__ __forceinline__ void add_pairs(float (&sums)[count], const ForwardArguments& arguments, const Share& share,
                                          unsigned char* shared) {
    const unsigned pairs = Share::splits_of(arguments) / 2, part = Share::part_of(arguments), half = 2 * share.first + part % 2;
    float4* const parts = parts_in(arguments, Layout(arguments)) + static_cast<Index>(half) * pairs * (count / 4 * 128);
    float4* const own = parts + part / 2 * (count / 4 * 128) + threadIdx.x % 128;
    griddepcontrol_wait();
#pragma unroll
    for (int i = 0; i < count / 4; ++i) {
        __stcg(own + i * 128, make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]));
    }
    barrier_sync(3, 128);
    volatile int* const is_last = reinterpret_cast<volatile int*>(shared + last_at);
    if (threadIdx.x % 128 == 0) {
        unsigned* const counter = static_cast<unsigned*>(arguments.counters) + arguments.batch + half;
        *is_last = atom_inc_acq_rel(counter, pairs - 1) == pairs - 1;  // after all threads' parts, by the barrier
    }
    barrier_sync(3, 128);
    if (*is_last == 0) return;
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] = 0;
#pragma unroll 1
    for (unsigned pair = 0; pair < pairs; ++pair) {
        const float4* const from = parts + pair * (count / 4 * 128) + threadIdx.x % 128;
#pragma unroll
        for (int i = 0; i < count / 4; ++i) {
            const float4 values = __ldcg(from + i * 128);
            sums[4 * i] += values.x, sums[4 * i + 1] += values.y;
            sums[4 * i + 2] += values.z, sums[4 * i + 3] += values.w;
        }
    }
}

}  // namespace kiln
