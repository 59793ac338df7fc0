// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where blocks share a unit's chunks of channels: each has a part of its logits. Pairs of them are clusters, whose blocks hand
// each other half of what they have: the pair's sums of half of the places end in each. The pairs meet in the scratch, for either
// half the last to come adding up. Nobody waits for another cluster, so these need not run at the same time.
namespace kiln {

/// threadIdx.x, asked for again each time: what follows from it then takes no registers beside two sets of accumulators.
__device__ __forceinline__ unsigned thread_index() {
    unsigned result;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(result));
    return result;
}

/// The parts' place in the scratch, behind the slots of the images' sums.
__device__ __forceinline__ float4* parts_in(const ForwardArguments& arguments, const Layout& layout) {
    const Index slots = layout.are_beside()
                            ? arguments.batch * layout.strips * layout.strip_tiles(arguments.pooled_height) * filter_tiles * 2
                            : (arguments.batch * filter_tiles + layout.units) * 2;
    return reinterpret_cast<float4*>(static_cast<double*>(arguments.partials) + slots);
}

/// Every warp but the consumers', which meet in the meantime: their barriers are the whole cluster's.
__device__ __forceinline__ void let_pair_meet() {
    __syncwarp();
    barrier_cluster_arrive();
    barrier_cluster_wait();
    barrier_cluster_arrive();
}

__device__ __forceinline__ void add_four(float* sums, float4 values) {
    sums[0] += values.x, sums[1] += values.y;
    sums[2] += values.z, sums[3] += values.w;
}

/// All consumers: `own` are the pair's sums of the block's half of the places. Before a block ends it waits until its sums have
/// been read (barrier_cluster_wait).
template <int count>
__device__ __forceinline__ void add_pair(const float (&sums)[count], float (&own)[count / 2], unsigned rank,
                                         const unsigned char* shared) {
    static_assert(maps_at + count * consumer_threads * 2 <= shared_bytes);
    const unsigned exchange = shared_address(shared + maps_at) + 16 * thread_index();
    barrier_sync(2, consumer_threads);  // the maps are no longer read
#pragma unroll
    for (int i = 0; i < count / 2; i += 4) {
        float sent[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            own[i + j] = rank == 0 ? sums[i + j] : sums[count / 2 + i + j];
            sent[j] = rank == 0 ? sums[count / 2 + i + j] : sums[i + j];
        }
        st_shared(exchange + i * 4 * consumer_threads, make_float4(sent[0], sent[1], sent[2], sent[3]));
    }
    barrier_cluster_arrive();
    barrier_cluster_wait();
    const unsigned other = mapa(exchange, rank ^ 1);
#pragma unroll
    for (int i = 0; i < count / 2; i += 4) {
        add_four(own + i, ld_shared_cluster(other + i * 4 * consumer_threads));  // the same in either order
    }
    barrier_cluster_arrive();
}

/// All consumers: hand in the pair's sums. If they are the last of their half's, `sums` become those of all pairs,
/// added in a fixed order, and the finishing warp is told so; else they are of no more use. Returns which.
template <int count>
__device__ __forceinline__ bool add_pairs(float (&sums)[count], const ForwardArguments& arguments, const Share& share,
                                          unsigned char* shared) {
    constexpr int stride = consumer_threads;  // of a thread's values, four together
    const unsigned pairs = Share::splits_of(arguments) / 2, part = Share::part_of(arguments), half = 2 * share.first + part % 2;
    const unsigned own = part / 2;
    float4* const parts =
        parts_in(arguments, Layout(arguments)) + static_cast<Index>(half) * pairs * (count / 4 * stride) + thread_index();
    griddepcontrol_wait();
#pragma unroll
    for (int i = 0; i < count / 4; ++i) {
        __stcg(parts + (own * (count / 4) + i) * stride,
               make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]));
    }
    barrier_sync(2, consumer_threads);
    volatile int* const is_last = reinterpret_cast<volatile int*>(shared + last_at);
    if (thread_index() == 0) {
        unsigned* const counter = static_cast<unsigned*>(arguments.counters) + arguments.batch + half;
        *is_last = atom_inc_acq_rel(counter, pairs - 1) == pairs - 1;  // after all threads' parts, by the barrier
    }
    barrier_sync(2, consumer_threads);
    if (*is_last == 0) return false;
    // (0 + 1) + (2 + 3), each sum the same in either order, so that the last, whichever it is, begins with its own.
    if ((own ^ 1) < pairs) {
        const float4* const from = parts + (own ^ 1) * (count / 4 * stride);
#pragma unroll
        for (int i = 0; i < count / 4; ++i) add_four(sums + 4 * i, __ldcg(from + i * stride));
    }
    if (pairs > 2) {
        const unsigned first = own < 2 ? 2 : 0;
        const float4* const from = parts + first * (count / 4 * stride);
#pragma unroll
        for (int i = 0; i < count / 4; ++i) {
            const float4 values = __ldcg(from + i * stride);
            float both[4] = {values.x, values.y, values.z, values.w};
            if (first + 1 < pairs) add_four(both, __ldcg(from + (count / 4 + i) * stride));
            add_four(sums + 4 * i, make_float4(both[0], both[1], both[2], both[3]));
        }
    }
    return true;
}

}  // namespace kiln
