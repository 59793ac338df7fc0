// SPDX-License-Identifier: Apache-2.0
#pragma once

// The consumers: logits of 64 filters × `tile_places` places in each warpgroup, and their activations' sums over filters.
namespace kiln {

/// A thread's part: with g = lane / 4 and t = lane % 4, rows g and g + 8 of the warp's 16, places 8j + 2t and 8j + 2t + 1.
using Accumulators = float[tile_places / 2];

/// A tap in the map: its phase's first place, and the spots and rows that it is ahead; a row is a pitch of spots.
struct Tap {
    unsigned phase, spots, rows;
};

/// The lower word of B's descriptor for a k-step, from the map's: where its first four channels, or its first tap, begin, and in
/// the upper half how far the second are. Part of both are as many spots and rows, whose places the launch has.
struct StepOfMap {
    unsigned fixed, spots, pitches;

    __device__ __forceinline__ unsigned at(unsigned pitch, int beside_bits) const {
        // Where the launch does not say it, how many places a spot has is a factor of the constants.
        if constexpr (beside != 0) return fixed + spots * beside + pitches * beside * pitch;
        return fixed + (spots + pitches * pitch << beside_bits);
    }
};

struct StepsOfMap {
    StepOfMap at[chunk_steps];
};

__device__ constexpr StepsOfMap steps_of_map() {
    Tap all[taps] = {};  // in the order of their boxes
    int count = 0;
    for (int phase_h = 0; phase_h < phases_h; ++phase_h) {
        for (int phase_w = 0; phase_w < phases_w; ++phase_w) {
            for (int ky = 0; ky < kernel_h; ++ky) {
                if (Rows::phase_of(ky) != phase_h) continue;
                for (int kx = 0; kx < kernel_w; ++kx) {
                    if (Columns::phase_of(kx) != phase_w) continue;
                    all[count].phase = phase_start(phase_h, phase_w);
                    all[count].spots = Columns::shift(kx);
                    all[count++].rows = Rows::shift(ky);
                }
            }
        }
    }
    StepsOfMap steps = {};
    for (int step = 0; step < chunk_steps; ++step) {
        // Of an odd number of taps, the last comes after the first once more, with weights of zero: the windows use it anyway.
        const bool is_alone = fours == 1 && 2 * step + 1 == taps;
        const Tap first = all[fours == 2 ? step : is_alone ? 0 : 2 * step];
        const Tap second = all[fours == 2 ? step : is_alone ? taps - 1 : 2 * step + 1];
        const unsigned ahead = fours == 2 ? four_bytes / 16 : second.phase - first.phase;
        steps.at[step].fixed = first.phase + (ahead << 16);
        steps.at[step].spots = first.spots + ((second.spots - first.spots) << 16);
        steps.at[step].pitches = first.rows + ((second.rows - first.rows) << 16);
    }
    return steps;
}

/// What both operands' descriptors have in common: core matrices of 8 rows or places × 16 bytes, each 128 contiguous bytes.
__device__ __forceinline__ unsigned long long descriptor(unsigned lower) {
    return static_cast<unsigned long long>(128 >> 4) << 32 | lower;
}

/// An address in a descriptor's lower word. In a cluster, addresses have the block's rank above the 18 bits that count.
__device__ __forceinline__ unsigned descriptor_address(unsigned address) {
    return (address & 0x3ffff) >> 4;
}

/// The ring of weights, as the consumers see it: where a k-step is in it that has `before` before it.
struct WeightStage {
    unsigned index, parity;

    __device__ __forceinline__ explicit WeightStage(unsigned before) : index(before % stages), parity(before / stages % 2) {}
    __device__ __forceinline__ void advance() {
        if (++index == stages) index = 0, parity ^= 1;
    }
};

/// sums += A · B over a chunk's batches from `batch` on. `weights`: the lower word of the descriptor of the warpgroup's weights
/// in the first stage; `before`: k-steps before the chunk; `map`: the lower word of the map's descriptor. Small products come
/// before large ones: the tensor core's adder truncates. `never` is false, which the compiler must not know: it would give each
/// batch a chain of its own, put their additions off, and run out of registers.
template <int batch>
__device__ __forceinline__ void multiply(Accumulators& sums, const Barriers& barriers, unsigned weights, unsigned before,
                                         unsigned map, unsigned pitch, int beside_bits, unsigned map_empty, bool never) {
    constexpr int count = steps_of(batch);
    unsigned a[count];
    WeightStage stage(weights_stay ? before % (chunks * chunk_steps) + first_step(batch) : before + first_step(batch));
    const unsigned first_stage = stage.index;
#pragma unroll
    for (int step = 0; step < count; ++step) {
        mbarrier_wait_parity(barriers.weights_full + 8 * stage.index, stage.parity);
        a[step] = weights + stage.index * (step_bytes >> 4);
        stage.advance();
    }
    constexpr StepsOfMap steps = steps_of_map();
    unsigned b[count];
#pragma unroll
    for (int step = 0; step < count; ++step) {
        b[step] = map + steps.at[first_step(batch) + step].at(pitch, beside_bits);
    }
    constexpr unsigned rest_of_map = part_bytes >> 4, rest_of_weights = operand_bytes >> 4;
    wgmma_fence();
    if constexpr (bf16_corrections) {
#pragma unroll
        for (int step = 0; step < count; ++step) {
            wgmma_chain_k16_bf16<tile_places>(descriptor(a[step] + rest_of_weights), descriptor(b[step] + rest_of_map),
                                              step > 0 || never);
        }
    } else if constexpr (!is_tf32) {
#pragma unroll
        for (int step = 0; step < count; ++step) {
            wgmma_chain_k8_tf32<tile_places>(descriptor(a[step]), descriptor(b[step] + rest_of_map), step > 0 || never);
            wgmma_chain_k8_tf32<tile_places>(descriptor(a[step] + rest_of_weights), descriptor(b[step]), true);
        }
    }
#pragma unroll
    for (int step = 0; step < count; ++step) {
        wgmma_chain_k8_tf32<tile_places>(descriptor(a[step]), descriptor(b[step]), !is_tf32 || step > 0 || never);
    }
    wgmma_commit_group();
    wgmma_wait_group<0>();
    if (thread_index() % 32 == 0) {
#pragma unroll
        for (int step = 0; step < count; ++step) {
            const unsigned index = first_stage + step;
            if (!weights_stay) mbarrier_arrive(barriers.weights_empty + 8 * (index < stages ? index : index - stages));
        }
        if (batch + 1 == batches) mbarrier_arrive(map_empty);
    }
    add_chain(sums);
    if constexpr (batch + 1 < batches)
        multiply<batch + 1>(sums, barriers, weights, before, map, pitch, beside_bits, map_empty, never);
}

/// Logits become activations, summed over a thread's two filters; padded filters' become zeros. result[2j + e] is place 8j + 2t +
/// e's.
template <int count>
__device__ __forceinline__ void activate_rows(const float (&sums)[count], const float* bias, int first_filter, unsigned thread,
                                              float (&result)[count / 2]) {
    const int upper = first_filter + thread / 32 * 16 + thread % 32 / 4, lower = upper + 8;
    const float upper_bias = __ldg(bias + upper), lower_bias = __ldg(bias + lower);
#pragma unroll
    for (int j = 0; j < count / 4; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const float first = activate(sums[4 * j + e] + upper_bias), second = activate(sums[4 * j + 2 + e] + lower_bias);
            result[2 * j + e] = (out_channels % filters == 0 || upper < out_channels ? first : 0.0f) +
                                (out_channels % filters == 0 || lower < out_channels ? second : 0.0f);
        }
    }
}

/// Adds up the eight lanes that share places, each of which ends with an eighth of them: lanes of a pair hand each other half of
/// what they have. Writes them to `to`, place by place.
template <int count, int offset>
__device__ __forceinline__ void add_rows(float (&values)[count], unsigned thread, float* to, int first) {
    if constexpr (offset == 32) {
        const int t = static_cast<int>(thread % 4);
#pragma unroll
        for (int i = 0; i < count; ++i) to[(first + i) / 2 * 8 + 2 * t + (first + i) % 2] = values[i];
    } else {
        const bool is_upper = (thread & offset) != 0;
        float half[count / 2];
#pragma unroll
        for (int i = 0; i < count / 2; ++i) {
            const float sent = is_upper ? values[i] : values[count / 2 + i];
            half[i] = (is_upper ? values[count / 2 + i] : values[i]) + __shfl_xor_sync(0xffffffffu, sent, offset);
        }
        add_rows<count / 2, 2 * offset>(half, thread, to, first + (is_upper ? count / 2 : 0));
    }
}

/// A consumer's life.
__device__ __forceinline__ void multiply_maps(const ForwardArguments& arguments, unsigned char* shared) {
    const Layout layout(arguments);
    const Share share(arguments, layout);
    const Barriers barriers(shared);
    const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 128), 0);
    const unsigned weights = descriptor_address(shared_address(shared + stages_at) + warpgroup * weight_parts * operand_bytes) |
                             (operand_bytes / 2 >> 4) << 16;
    const unsigned maps = descriptor_address(shared_address(shared + maps_at));
    declare_chain<tile_places / 2>();

    // All turns follow from how many units and chunks are done.
#pragma unroll 1
    for (unsigned done = 0; share.first + done * share.step < share.units; ++done) {
        Accumulators sums;
#pragma unroll
        for (int i = 0; i < tile_places / 2; ++i) sums[i] = 0;
        if constexpr (may_be_beside) zero_chain<tile_places / 2>();
#pragma unroll 1
        for (int chunk = 0; chunk < share.own_chunks; ++chunk) {
            Count<2> turn{done * share.own_chunks + chunk};
            mbarrier_wait_parity(barriers.map_full + 8 * turn.index(), turn.parity());
            multiply<0>(sums, barriers, weights, turn.count * chunk_steps, maps + turn.index() * (map_bytes >> 4), layout.pitch,
                        layout.beside_bits, barriers.map_empty + 8 * turn.index(), arguments.batch < 0);
        }

        const unsigned thread = thread_index();
        const float* const bias = static_cast<const float*>(arguments.weights);
        const int first_filter = Share::filter_tile(share.first + done * share.step) * filters;
        float activations[tile_places / 4];
        if (Share::splits_of(arguments) > 1) {
            const unsigned rank = Share::rank_of(arguments);
            float own[tile_places / 4];
            add_pair(sums, own, rank, shared);
            if (Share::splits_of(arguments) > 2 && !add_pairs(own, arguments, share, shared)) {
                mbarrier_arrive(barriers.sums_full);
                break;
            }
            float half[tile_places / 8];
            activate_rows(own, bias, first_filter, thread, half);
#pragma unroll
            for (int i = 0; i < tile_places / 8; ++i) {
                activations[i] = rank == 0 ? half[i] : 0.0f;
                activations[tile_places / 8 + i] = rank == 0 ? 0.0f : half[i];
            }
        } else {
            activate_rows(sums, bias, first_filter, thread, activations);
        }
        mbarrier_wait_parity(barriers.sums_empty, (done & 1) ^ 1);
        add_rows<tile_places / 4, 4>(activations, thread, reinterpret_cast<float*>(shared + sums_at) + thread / 32 * tile_places,
                                     0);
        mbarrier_arrive(barriers.sums_full);
    }
    if (Share::splits_of(arguments) > 1) barrier_cluster_wait();
}

}  // namespace kiln
