// SPDX-License-Identifier: Apache-2.0
#pragma once

// The consumers: logits of 64 positions × `filters` filters in each warpgroup, and their activations' sums over the filters.
namespace kiln {

/// A thread's part of 64 positions × `filters` filters: with g = lane / 4 and t = lane % 4, rows g and g + 8 of the warp's 16,
/// columns 8j + 2t and 8j + 2t + 1 (hopper_wgmma.cuh).
using Accumulators = float[filters / 2];

/// One k-step of A in a thread's registers: rounded values, and what corrects them.
struct Fragment {
    unsigned rounded[4];
    unsigned correction[4];
};

__device__ __forceinline__ unsigned pack_bf16(float low, float high) {
    unsigned result;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
    return result;
}

/// Rounds to tf32, half away from zero, by integer arithmetic; a NaN may become a zero.
__device__ __forceinline__ float round_to_tf32(float value) {
    return __uint_as_float((__float_as_uint(value) + 0x1000u) & 0xffffe000u);
}

/// Values of rows g, g + 8 at k = t, then of the same rows at k = t + 4.
__device__ __forceinline__ void split(const float (&values)[4], Fragment& fragment) {
    float rests[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if constexpr (products == Products::tf32) {
            // The tensor core ignores what the mask would clear, and with it the payloads of some NaNs.
            const bool is_nan = values[i] != values[i];
            fragment.rounded[i] = is_nan ? 0x7fffffffu : __float_as_uint(values[i]) + 0x1000u;
        } else {
            const float rounded = round_to_tf32(values[i]);
            fragment.rounded[i] = __float_as_uint(rounded);
            rests[i] = values[i] - rounded;  // exact; NaN where the value is not finite
        }
    }
    if constexpr (products == Products::tf32_corrected_by_tf32) {
#pragma unroll
        for (int i = 0; i < 4; ++i) fragment.correction[i] = __float_as_uint(rests[i]);
    } else if constexpr (products == Products::tf32_corrected_by_bf16) {
        // k = 16: the values meet what rounding left of the weights, then their own rests meet the weights.
        fragment.correction[0] = pack_bf16(values[0], values[2]);
        fragment.correction[1] = pack_bf16(values[1], values[3]);
        fragment.correction[2] = pack_bf16(rests[0], rests[2]);
        fragment.correction[3] = pack_bf16(rests[1], rests[3]);
    }
}

/// chain += what corrects the products of `count` k-steps, whose weights are at `stage`; chain = that unless it `goes_on`.
template <int count>
__device__ __forceinline__ void start_corrections(Accumulators& chain, const Fragment* fragments, unsigned stage, bool goes_on) {
    const unsigned long long weights = wgmma_descriptor(stage, operand_bytes / 2, 128);
    const auto operand = [&](int step, int which) { return weights + ((step * step_bytes + which * operand_bytes) >> 4); };
    if constexpr (products == Products::tf32_corrected_by_tf32) {
#pragma unroll
        for (int step = 0; step < count; ++step) {
            wgmma_k8_tf32<filters>(chain, fragments[step].rounded, operand(step, 1), step > 0 || goes_on);
            wgmma_k8_tf32<filters>(chain, fragments[step].correction, operand(step, 0), true);
        }
    } else if constexpr (products == Products::tf32_corrected_by_bf16) {
#pragma unroll
        for (int step = 0; step < count; ++step) {
            wgmma_k16_bf16<filters>(chain, fragments[step].correction, operand(step, 1), step > 0 || goes_on);
        }
    }
}

/// The same for the products of rounded values.
template <int count>
__device__ __forceinline__ void start_rounded(Accumulators& chain, const Fragment* fragments, unsigned stage, bool goes_on) {
    const unsigned long long weights = wgmma_descriptor(stage, operand_bytes / 2, 128);
#pragma unroll
    for (int step = 0; step < count; ++step) {
        wgmma_k8_tf32<filters>(chain, fragments[step].rounded, weights + ((step * step_bytes) >> 4), step > 0 || goes_on);
    }
}

/// Starts chain = A · B over one batch, B being the stage of weights at `stage`. Small products come before large ones: the
/// tensor core's adder truncates. `never` is false, which the compiler must not know: it would give each batch a chain of its
/// own, put their additions off, and run out of registers.
template <int count>
__device__ __forceinline__ void start_products(Accumulators& chain, const Fragment (&fragments)[count], unsigned stage,
                                               bool never) {
    wgmma_fence();
    start_corrections<count>(chain, fragments, stage, never);
    start_rounded<count>(chain, fragments, stage, products != Products::tf32 || never);
    wgmma_commit_group();
}

/// The ring of weights, as the consumers see it.
struct Weights {
    unsigned stages_address;
    const Barriers& barriers;
    Turn<stages> turn;
    bool are_there = false;  // the current stage's, as far as is known

    __device__ __forceinline__ void wait() const {
        mbarrier_wait_parity_unless(are_there, barriers.weights_full + 8 * turn.index, turn.parity);
    }
    /// Asks for the stage after the current one: the answer takes a while, and is there when its turn comes.
    __device__ __forceinline__ void look_ahead() {
        if constexpr (weights_stay) return;  // they have been waited for, but for the first unit's
        Turn<stages> next = turn;
        next.advance();
        are_there = mbarrier_test_wait_parity(barriers.weights_full + 8 * next.index, next.parity);
    }
    __device__ __forceinline__ unsigned stage() const { return stages_address + turn.index * stage_bytes; }

    /// When the products with the current stage are done.
    __device__ __forceinline__ void leave() {
        if (!weights_stay) mbarrier_arrive(barriers.weights_empty + 8 * turn.index);
        turn.advance();
    }
    __device__ __forceinline__ void start_again() {
        if (weights_stay) turn = {}, are_there = true;
    }
};

/// Where a thread finds its values of A in a map: those of its two positions, seen from its lane's channel or tap.
struct Gather {
    const float* values[2][line_items];
    const Layout& layout;

    /// What the lane adds to an item's place.
    __device__ __forceinline__ static int lane_offset(const Layout& layout, int line_item, int lane) {
        if constexpr (lanes_are_channels) {
            return lane * layout.channel_stride;
        } else {
            const int kx = 4 * line_item + lane;
            return layout.column_offset(kx < kernel_w ? kx : 0);  // padding, as after the last item
        }
    }

    /// Values of rows g, g + 8 at k = t, then of the same rows at k = t + 4: for `count` k-steps from `first` on.
    template <int first, int count>
    __device__ __forceinline__ void get(float (&result)[long_steps][4]) const {
#pragma unroll
        for (int step = 0; step < count; ++step) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const Item at = item(2 * (first + step) + half);
                const int offset = at.channel * layout.channel_stride + layout.line_offset(at.ky) +
                                   (lanes_are_channels ? layout.column_offset(at.kx) : 0);
                const int line_item = lanes_are_channels ? 0 : at.kx / 4;
                result[step][2 * half] = values[0][line_item][offset];
                result[step][2 * half + 1] = values[1][line_item][offset];
            }
        }
    }
};

/// sums += A · B over a chunk's batches from `batch` on; `values` are those of its first k-steps. The next batch's are gathered
/// while the tensor cores work.
template <int batch, class Source>
__device__ __forceinline__ void multiply(Accumulators& sums, Accumulators& chain, float (&values)[long_steps][4], Source& source,
                                         Weights& weights, unsigned source_empty, bool never) {
    constexpr int count = steps_of(batch);
    Fragment fragments[count];
#pragma unroll
    for (int step = 0; step < count; ++step) split(values[step], fragments[step]);
    if constexpr (batch + 1 == batches) mbarrier_arrive(source_empty);
    weights.wait();
    start_products(chain, fragments, weights.stage(), never);
    if constexpr (batch + 1 < batches) {
        source.template get<first_step(batch + 1), steps_of(batch + 1)>(values);
    }
    weights.look_ahead();
    wgmma_wait_group<0>();
    wgmma_settle(chain);
    weights.leave();
#pragma unroll
    for (int i = 0; i < filters / 2; ++i) sums[i] += chain[i];
    if constexpr (batch + 1 < batches) multiply<batch + 1>(sums, chain, values, source, weights, source_empty, never);
}

// One chain for all of a chunk's batches spares additions and waits for sums. Its small products all come first, so rounded
// values wait in registers: tiles that spilled had none to spare. It keeps what the contract allows for all data
// (docs/numerics.md).
constexpr bool is_accurate_chain =
    products == Products::tf32
        ? chunk_steps <= 9  // as in hopper_stream
        : products == Products::tf32_corrected_by_tf32 && 5 * chunk_steps + chunks <= 38 + ceil_divide(in_channels * taps, 32);
constexpr int chain_registers = filters + 4 * (chunk_steps + long_steps) + (lanes_are_channels ? 24 : 8);
constexpr bool has_registers_for_one_chain = chain_registers <= consumer_registers && moves_registers;
constexpr bool is_one_chain = has_registers_for_one_chain && is_accurate_chain && batches > 1 && filters <= 64 && weights_stay;

/// chain += the products of rounded values of a chunk's batches from `batch` on.
template <int batch>
__device__ __forceinline__ void start_all_rounded(Accumulators& chain, const Fragment (&fragments)[chunk_steps], unsigned stage) {
    start_rounded<steps_of(batch)>(chain, fragments + first_step(batch), stage + batch * stage_bytes, true);
    if constexpr (batch + 1 < batches) start_all_rounded<batch + 1>(chain, fragments, stage);
}

/// As `multiply`, in one chain. `stage`: of the chunk's first weights; those of its batches follow each other.
template <int batch>
__device__ __forceinline__ void multiply_in_one_chain(Accumulators& sums, Accumulators& chain, Fragment (&fragments)[chunk_steps],
                                                      float (&values)[long_steps][4], const Gather& gather, Weights& weights,
                                                      unsigned stage, unsigned map_empty, bool never) {
    constexpr int first = first_step(batch), count = steps_of(batch);
#pragma unroll
    for (int step = 0; step < count; ++step) split(values[step], fragments[first + step]);
    weights.wait();
    weights.leave();
    wgmma_fence();
    if constexpr (products == Products::tf32) {
        start_rounded<count>(chain, fragments + first, stage + batch * stage_bytes, batch > 0 || never);
    } else {
        start_corrections<count>(chain, fragments + first, stage + batch * stage_bytes, batch > 0 || never);
    }
    if constexpr (batch + 1 < batches) {
        wgmma_commit_group();
        gather.get<first_step(batch + 1), steps_of(batch + 1)>(values);
        // The registers of what is in flight are wanted next; without corrections there are enough for two batches.
        wgmma_wait_group<products == Products::tf32 ? 1 : 0>();
        multiply_in_one_chain<batch + 1>(sums, chain, fragments, values, gather, weights, stage, map_empty, never);
    } else {
        if constexpr (products != Products::tf32) start_all_rounded<0>(chain, fragments, stage);
        wgmma_commit_group();
        mbarrier_arrive(map_empty);
        wgmma_wait_group<0>();
        wgmma_settle(chain);
#pragma unroll
        for (int i = 0; i < filters / 2; ++i) sums[i] += chain[i];
    }
}

/// Sums of activations over a thread's columns, for rows g and g + 8.
struct RowSums {
    float upper = 0, lower = 0;

    /// Adds up the four lanes that share a row.
    __device__ __forceinline__ void add_lanes() {
#pragma unroll
        for (int offset = 1; offset < 4; offset *= 2) {
            upper += __shfl_xor_sync(0xffffffffu, upper, offset);
            lower += __shfl_xor_sync(0xffffffffu, lower, offset);
        }
    }
};

/// Sigmoids of logits, summed, with one reciprocal for four of them: of what a sigmoid costs, most are special functions.
///
///     1/a + 1/b + 1/c + 1/d = ((a + b)·cd + (c + d)·ab) / abcd
///
/// Where the product of four overflows, or is no number, each has its own.
template <int count>
__device__ __forceinline__ float sum_sigmoids(const float (&logits)[count]) {
    float divisors[count], sums[count / 4];
    bool are_large = false;
#pragma unroll
    for (int i = 0; i < count; ++i) divisors[i] = 1.0f + exp2_approximate(logits[i]);
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        const float ab = divisors[i] * divisors[i + 1], cd = divisors[i + 2] * divisors[i + 3];
        const float upper = fmaf(divisors[i] + divisors[i + 1], cd, (divisors[i + 2] + divisors[i + 3]) * ab);
        sums[i / 4] = upper * reciprocal_approximate(ab * cd);
        are_large = are_large || !(ab * cd < 0x1p125f);
    }
    if (are_large) {
#pragma unroll
        for (int i = 0; i < count; i += 4) {
            sums[i / 4] = (reciprocal_approximate(divisors[i]) + reciprocal_approximate(divisors[i + 1])) +
                          (reciprocal_approximate(divisors[i + 2]) + reciprocal_approximate(divisors[i + 3]));
        }
    }
    return pairwise_sum<count / 4>(sums);
}

/// The bias of two neighbouring columns' filters, for rows g and g + 8.
__device__ __forceinline__ void add_bias(const float* bias, int filter, float (&logits)[4]) {
    const float2 biases = __ldg(reinterpret_cast<const float2*>(bias + filter));
#pragma unroll
    for (int i = 0; i < 4; ++i) logits[i] += i % 2 == 0 ? biases.x : biases.y;
}

/// Logits become activations; padded filters become zeros.
__device__ __forceinline__ void activate_columns(int filter, float (&logits)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float activation = activate(logits[i]);
        logits[i] = out_channels % filters == 0 || filter + i % 2 < out_channels ? activation : 0.0f;
    }
}

/// Of the whole reduction in this block.
__device__ __forceinline__ RowSums activate_own(const Accumulators& sums, const float* bias, int filter_tile) {
    constexpr bool by_fours = spec::is_sigmoid != 0 && out_channels % filters == 0 && filters % 16 == 0;
    float upper[filters / 4], lower[filters / 4];
#pragma unroll
    for (int j = 0; j < filters / 8; ++j) {
        const int filter = filter_tile * filters + 8 * j + 2 * static_cast<int>(threadIdx.x % 4);
        float logits[4] = {sums[4 * j], sums[4 * j + 1], sums[4 * j + 2], sums[4 * j + 3]};
        add_bias(bias, filter, logits);
        if constexpr (!by_fours) activate_columns(filter, logits);
        upper[2 * j] = logits[0], upper[2 * j + 1] = logits[1];
        lower[2 * j] = logits[2], lower[2 * j + 1] = logits[3];
    }
    if constexpr (by_fours) {
        return {sum_sigmoids(upper), sum_sigmoids(lower)};
    } else {
        return {pairwise_sum<filters / 4>(upper), pairwise_sum<filters / 4>(lower)};
    }
}

/// Where a cluster's blocks divide the channels: each hands its sums to the others and finishes its share of the columns.
__device__ __forceinline__ RowSums activate_shared(const Accumulators& sums, const float* bias, int filter_tile,
                                                   const Share& share, unsigned exchange) {
    barrier_sync(1, consumer_threads);  // the maps and stages below the exchange are no longer read
    const unsigned own = exchange + 16 * threadIdx.x;
#pragma unroll
    for (int j = 0; j < filters / 8; ++j) {
        st_shared(own + j * 16 * consumer_threads, make_float4(sums[4 * j], sums[4 * j + 1], sums[4 * j + 2], sums[4 * j + 3]));
    }
    barrier_cluster_arrive();
    barrier_cluster_wait();
    const int column = 2 * static_cast<int>(threadIdx.x % 4);
    const int splits = fixed_splits == 0 ? share.splits : fixed_splits;
    // On their way at once; more made two warpgroups spill.
    constexpr int parts_at_once = warpgroups == 1 ? 8 : 4, columns_at_once = fixed_splits != 0 && warpgroups == 1 ? 2 : 1;
    RowSums result;
#pragma unroll columns_at_once
    for (int j = filters / 8 * share.rank / splits; j < filters / 8 * (share.rank + 1) / splits; ++j) {
        float logits[4] = {0, 0, 0, 0};
#pragma unroll parts_at_once
        for (int other = 0; other < splits; ++other) {
            const float4 part = ld_shared_cluster(mapa(own + j * 16 * consumer_threads, other));
            logits[0] += part.x, logits[1] += part.y;
            logits[2] += part.z, logits[3] += part.w;
        }
        const int filter = filter_tile * filters + 8 * j + column;
        add_bias(bias, filter, logits);
        activate_columns(filter, logits);
        result.upper += logits[0] + logits[1];
        result.lower += logits[2] + logits[3];
    }
    barrier_cluster_arrive();
    barrier_cluster_wait();  // nobody leaves while its sums are being read
    return result;
}

/// A consumer's life.
__device__ __forceinline__ void multiply_maps(const ForwardArguments& arguments, unsigned char* shared) {
    const Layout layout(arguments);
    const Share& share = Share::in(shared);
    const Barriers barriers(shared);
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const float* const bias = static_cast<const float*>(arguments.weights);
    float* const position_sums = reinterpret_cast<float*>(shared + sums_at);
    Weights weights{shared_address(shared + stages_at), barriers};
    Count<2> map_turn;

    // Where a unit's places are follows from how many came before it: that is one register in the loop over chunks.
    for (unsigned before = 0; share.unit(before) < share.units; ++before) {
        mbarrier_wait_parity(barriers.map_full + 8 * map_turn.index(),
                             map_turn.parity());  // and so the unit's description is there
        const Unit& unit = reinterpret_cast<const Unit*>(shared + units_at)[before % unit_places];
        const int upper = 16 * warp + lane / 4, lower = upper + 8;
        // Rows past the tile's end repeat its last position; nobody reads their sums.
        const int places[2] = {unit.place_in_map(arguments, layout, share, min(upper, unit.count - 1)),
                               unit.place_in_map(arguments, layout, share, min(lower, unit.count - 1))};
        Accumulators sums, chain;
#pragma unroll
        for (int i = 0; i < filters / 2; ++i) sums[i] = chain[i] = 0;

#pragma unroll 1
        for (int chunk = share.first_chunk; chunk < share.last_chunk; ++chunk) {
            mbarrier_wait_parity(barriers.map_full + 8 * map_turn.index(), map_turn.parity());
            const float* const map = reinterpret_cast<const float*>(shared + maps_at) + map_turn.index() * map_floats;
            Gather gather{{}, layout};
#pragma unroll
            for (int line_item = 0; line_item < line_items; ++line_item) {
                const int lane_offset = Gather::lane_offset(layout, line_item, lane % 4);
                gather.values[0][line_item] = map + places[0] + lane_offset;
                gather.values[1][line_item] = map + places[1] + lane_offset;
            }
            float values[long_steps][4];
            gather.get<0, long_steps>(values);
            const unsigned map_empty = barriers.map_empty + 8 * map_turn.index();
            if constexpr (is_one_chain) {
                Fragment fragments[chunk_steps];
                multiply_in_one_chain<0>(sums, chain, fragments, values, gather, weights, weights.stage(), map_empty,
                                         arguments.batch < 0);
            } else {
                multiply<0>(sums, chain, values, gather, weights, map_empty, arguments.batch < 0);
            }
            map_turn.advance();
        }
        weights.start_again();

        const int filter_tile = Share::filter_tile(share.unit(before));
        const unsigned sums_place = before % 2, sums_parity = before / 2 % 2;
        RowSums row_sums;
        if (Share::splits_of(arguments) == 1) {
            row_sums = activate_own(sums, bias, filter_tile);
        } else if constexpr (most_splits > 1) {
            row_sums = activate_shared(sums, bias, filter_tile, share, shared_address(shared + pixels_at));
        }
        row_sums.add_lanes();
        mbarrier_wait_parity(barriers.sums_empty + 8 * sums_place, sums_parity ^ 1);
        if (lane % 4 == 0) {
            position_sums[sums_place * tile_places + upper] = row_sums.upper;
            position_sums[sums_place * tile_places + lower] = row_sums.lower;
        }
        mbarrier_arrive(barriers.sums_full + 8 * sums_place);
    }
}

/// A consumer's life where there are no maps, and blocks share no channels.
__device__ __forceinline__ void multiply_windows(const ForwardArguments& arguments, unsigned char* shared) {
    const Layout layout(arguments);
    const Share& share = Share::in(shared);
    const Barriers barriers(shared);
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const float* const bias = static_cast<const float*>(arguments.weights);
    float* const place_sums = reinterpret_cast<float*>(shared + sums_at);
    Weights weights{shared_address(shared + stages_at), barriers};
    Turn<pixel_stages> turn;
    const int place = 8 * warp + lane / 4;

    for (unsigned before = 0; share.unit(before) < share.units; ++before) {
        mbarrier_wait_parity(barriers.pixels_full + 8 * turn.index, turn.parity);  // and so the unit's description is there
        const Unit& unit = reinterpret_cast<const Unit*>(shared + units_at)[before % unit_places];
        // Places past the tile's end repeat its last one; nobody reads their sums.
        const Corner corner(arguments, layout, share, unit, min(place, unit.count - 1));
        Accumulators sums, chain;
#pragma unroll
        for (int i = 0; i < filters / 2; ++i) sums[i] = chain[i] = 0;

#pragma unroll 1
        for (int chunk = share.first_chunk; chunk < share.last_chunk; ++chunk) {
            mbarrier_wait_parity(barriers.pixels_full + 8 * turn.index, turn.parity);
            const float* const pixels = reinterpret_cast<const float*>(shared + pixels_at) + turn.index * pixel_floats;
            Windows windows;
            windows.pitch = layout.pixel_pitch;
#pragma unroll
            for (int four = 0; four < Windows::fours; ++four)
                windows.corners[four] = corner.in(arguments, layout, pixels, chunk, 4 * four + lane % 4);
            float values[long_steps][4];
            windows.get<0, long_steps>(values);
            multiply<0>(sums, chain, values, windows, weights, barriers.pixels_empty + 8 * turn.index, arguments.batch < 0);
            turn.advance();
        }
        weights.start_again();

        const int filter_tile = Share::filter_tile(share.unit(before));
        const unsigned sums_place = before % 2, sums_parity = before / 2 % 2;
        RowSums row_sums = activate_own(sums, bias, filter_tile);
        row_sums.add_lanes();
        mbarrier_wait_parity(barriers.sums_empty + 8 * sums_place, sums_parity ^ 1);
        if (lane % 4 == 0) {
            place_sums[sums_place * tile_places + place] =
                (corner.has_first ? row_sums.upper : 0) + (corner.has_second ? row_sums.lower : 0);
        }
        mbarrier_arrive(barriers.sums_full + 8 * sums_place);
    }
}

}  // namespace kiln
