// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sizes of one specialisation: what the spec and the tile fix.
namespace kiln {

__host__ __device__ constexpr int smaller(int a, int b) {
    return a < b ? a : b;
}
__host__ __device__ constexpr int larger(int a, int b) {
    return a < b ? b : a;
}

constexpr int taps = kernel_h * kernel_w;

// A pooled window in the input, and how far its neighbours are.
constexpr int window_h = stride_h * (pool_h - 1) + dilation_h * (kernel_h - 1) + 1;
constexpr int window_w = stride_w * (pool_w - 1) + dilation_w * (kernel_w - 1) + 1;
constexpr int row_step = stride_h * pool_h;
constexpr int column_step = stride_w * pool_w;

// Threads: `warps` consumers, then a warpgroup of producers. Registers change hands at the start.
constexpr int warps = static_cast<int>(spec::warps);
constexpr int warpgroups = warps / 4;
constexpr int consumer_threads = 32 * warps;
constexpr int threads = consumer_threads + 128;
constexpr bool moves_registers = warps > 4;
constexpr int producer_registers = 56;
constexpr int consumer_registers = smaller(232, (65536 / 128 - producer_registers) / warpgroups / 8 * 8);

// A warp owns 16 neighbouring columns of the pooled map; lane (g, t) has two neighbouring ones (lane_column).
constexpr int warp_columns = 16;

// The input's channels come in passes; of a pass's channels lane (g, t) takes those with index t mod 4. The last pass begins
// early enough to be full: weights of channels that it repeats are zero there.
constexpr int pass_channels = static_cast<int>(spec::channels);
constexpr int passes = ceil_divide(in_channels, pass_channels);
constexpr int lane_channels = pass_channels / 4;
constexpr int stage_channels = smaller(pass_channels, in_channels);
__host__ __device__ constexpr int first_channel(int pass) {
    return smaller(pass * pass_channels, in_channels - stage_channels);
}

// Rows that the next window needs again are kept as sums in registers, where one pass is all, or read again.
constexpr bool keeps_rows = spec::keeps_rows != 0 && window_h > row_step;
constexpr int kept_rows = keeps_rows ? window_h - row_step : 0;
constexpr int unit_rows = window_h - kept_rows;
constexpr int stage_rows = static_cast<int>(spec::stage_rows);
constexpr bool stages_are_equal = kept_rows % stage_rows == 0 && unit_rows % stage_rows == 0;

// K: a lane's values of one position and pass are its channels' taps; two of them make its part of a k-step.
constexpr int lane_values = lane_channels * taps;
constexpr int k_steps = ceil_divide(lane_values, 2);
constexpr int max_chain = 9;  // k-steps whose products one chain on the tensor cores may add up
constexpr int chains = k_steps <= max_chain ? 1 : ceil_divide(k_steps, max_chain - 1);
constexpr int chain_steps = ceil_divide(k_steps, chains);
constexpr bool promotes = chains * passes > 1;

constexpr int filters = static_cast<int>(spec::filters);
constexpr int filter_tiles = ceil_divide(out_channels, filters);
constexpr bool is_tf32 = spec::is_tf32 != 0;

// Weights in the order of their use: pass, tile of filters, k-step; the rounded ones, then what rounding left.
constexpr int operand_bytes = 8 * filters * 4;
constexpr int step_bytes = operand_bytes * (is_tf32 ? 1 : 2);
constexpr int tile_bytes = k_steps * step_bytes;
constexpr int bias_bytes = round_up(filter_tiles * filters * 4, 16);
constexpr int weights_bytes = passes * filter_tiles * tile_bytes + bias_bytes;

// A slot row starts at a multiple of four input columns, `lead` columns before the strip's first. A lane reads its two windows
// with vectors of `vector` floats, for which its first column is aligned.
constexpr int lead = (4 - padding_w % 4) % 4;
constexpr int vector = 2 * column_step % 4 == 0 ? 4 : 2;
constexpr int vector_lead = lead % vector;
constexpr int pair_columns = column_step + window_w;
constexpr int pair_vectors = ceil_divide(vector_lead + pair_columns, vector);

// Whether slots are made of panels (hopper_stream_panels.cuh): where a lane's vectors are pieces of 16 bytes, and not many.
// Stages of one row have more waits, and spilled 8 bytes with panels.
constexpr bool pads = padding_h > 0 || padding_w > 0;
constexpr bool has_panels =
    !pads && stages_are_equal && stage_channels % 4 == 0 && vector == 4 && pair_vectors <= 3 && stage_rows > 1;

/// Where a slot's channels start within 128 bytes, and which pairs of positions lanes have, so that the lanes that read together
/// meet no bank twice. `swaps_pairs`: lanes g = 1 and 2 of each four have each other's pair.
struct BankOffsets {
    int first_bit, second_bit;  // of a channel's index
    bool swaps_pairs;

    __host__ __device__ constexpr int of(int channel) const {
        return (channel & 1) * first_bit + (channel >> 1 & 1) * second_bit;
    }
    __host__ __device__ constexpr int pair_of(int g) const { return swaps_pairs ? (g & 4) + (g & 1) * 2 + (g >> 1 & 1) : g; }
    /// How often the lanes of one access of 128 bytes share a bank.
    __host__ __device__ constexpr int conflicts() const {
        const int bytes = 4 * vector;
        int count = 0;
        for (int a = 0; a < 128 / bytes; ++a) {
            for (int b = 0; b < a; ++b) {
                const int first = (pair_of(a / 4) * 2 * column_step * 4 + of(a % 4)) % 128;
                const int second = (pair_of(b / 4) * 2 * column_step * 4 + of(b % 4)) % 128;
                if (first / bytes == second / bytes) ++count;
            }
        }
        return count;
    }
};
/// Multiples of 16, for copies; best first. Where the two ends of a bulk copy lie differently within 128 bytes it takes longer,
/// and some differences cost more than others (docs/kernel-log.md).
__host__ __device__ constexpr BankOffsets best_bank_offsets() {
    constexpr BankOffsets choices[] = {{96, 16, true}, {32, 64, false}, {16, 64, false}, {16, 32, false}};
    BankOffsets best = choices[0];
    for (const BankOffsets& each : choices) {
        if (each.conflicts() < best.conflicts()) best = each;
    }
    return best;
}
__device__ __forceinline__ int bank_offset(int channel) {
    constexpr BankOffsets best = best_bank_offsets();
    return best.of(channel);
}
/// The first of the two columns that lane (g, t) has of its warp's. In panels lanes of neighbouring g, which read together, are
/// four pieces apart: each four lanes of one g have four pieces that differ in the lower bits of their numbers.
__device__ __forceinline__ int lane_column(int lane) {
    constexpr BankOffsets best = best_bank_offsets();
    constexpr int pieces = column_step / 2;
    const int g = lane / 4;
    if (has_panels && pieces % 2 != 0) return 2 * ((g & 1) * 4 + g / 2);
    if (has_panels) return 2 * (pieces % 4 != 0 ? (g & 4) + (g & 1) * 2 + (g >> 1 & 1) : g);
    return 2 * best.pair_of(g);
}

// Shared memory: where warps are, weights and bias, rings. Idle lanes may read past a row by as much as a pair of positions has
// columns, so the host leaves that behind the rings (StreamTile::ring_bytes).
constexpr int most_pending = 4;
constexpr int station_bytes = 104;
constexpr int weights_offset = round_up(16 + station_bytes * warps, 128);
constexpr int slot_head_bytes = has_panels ? 1024 : 128;
constexpr int ring_offset = round_up(weights_offset + weights_bytes, slot_head_bytes);

}  // namespace kiln
