// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sizes of one specialisation: what the spec and the tile fix.
namespace kiln {

// Warps: two consumer warpgroups, each with 64 filters and all places of the tile; then two warpgroups of which six warps build
// maps, one feeds the others and one adds up images.
constexpr int warpgroups = 2, builders = 2;
constexpr int consumer_threads = 128 * warpgroups;
constexpr int consumer_warps = 4 * warpgroups;
constexpr int builder_warps = 4 * builders - 2;
constexpr int threads = 128 * (warpgroups + builders);
constexpr int feeding_warp = threads / 32 - 2, finishing_warp = feeding_warp + 1;

// The tile: 128 filters by a run of places.
constexpr int filters = 64 * warpgroups;
constexpr int filter_tiles = ceil_divide(out_channels, filters);
constexpr int tile_places = static_cast<int>(spec::places);
constexpr bool is_tf32 = spec::is_tf32 != 0;
constexpr bool bf16_corrections = spec::bf16_corrections != 0;
static_assert(tile_places % 32 == 0 && tile_places <= 192);
static_assert(!is_tf32 || !bf16_corrections);

// Images that lie beside each other: each spot of the map then has a place for each of them, and a tap is a shift by spots. Tiles
// are whole rows of a strip, and several blocks may share a tile's channels.
// Where it is 0, each launch says whether there are 8 or 1.
constexpr int beside = static_cast<int>(spec::beside);
constexpr bool may_be_beside = beside != 1, may_be_alone = beside != 8;
static_assert(beside == 0 || beside == 1 || beside == 8);

// The reduction goes over chunks of `fours` groups of four channels. A k-step is one tap of eight channels, or two taps of four.
// Batches of k-steps are one chain of products each: its sum starts at zero and is added, rounded to nearest, to running sums.
constexpr int fours = static_cast<int>(spec::fours);
constexpr int chunks = ceil_divide(in_channels, 4 * fours);
constexpr int chunk_steps = fours == 2 ? taps : ceil_divide(taps, 2);
constexpr int batches = ceil_divide(chunk_steps, static_cast<int>(spec::steps));
constexpr int long_steps = ceil_divide(chunk_steps, batches);           // k-steps of the first batches …
constexpr int long_batches = chunk_steps - batches * (long_steps - 1);  // … this many; the others have one less
static_assert(fours == 2 || (fours == 1 && taps > 1));

/// The first k-step of a chunk's batch, and how many it has.
__device__ __forceinline__ constexpr int first_step(int batch) {
    return batch * long_steps - (batch > long_batches ? batch - long_batches : 0);
}
__device__ __forceinline__ constexpr int steps_of(int batch) {
    return batch < long_batches ? long_steps : long_steps - 1;
}

// Weights in the order of their use. A k-step's: for each 64 rows the rounded weights, then what corrects them: what rounding
// left of them, or pairs of bf16 in the same places, the weight and what rounding left of it.
constexpr int operand_bytes = 64 * 8 * 4;
constexpr int weight_parts = is_tf32 ? 1 : 2;
constexpr int step_bytes = warpgroups * weight_parts * operand_bytes;
constexpr int stages = static_cast<int>(spec::stages);
constexpr bool weights_stay = filter_tiles == 1 && chunks * chunk_steps <= stages;  // they are fetched once
constexpr int bias_bytes = round_up(filter_tiles * filters * 4, 128);
static_assert(stages >= long_steps);

// The box map of a chunk: boxes, rounded and what corrects them, by groups of four channels and by phases; then places of 16
// bytes, one for each of the four channels' boxes. A box's pair of bf16 is what rounding left of it, and the box: the weights'
// the other way round, so that one product of k = 16 is the sum of both small ones.
constexpr int map_parts = is_tf32 ? 1 : 2;
constexpr int map_places = static_cast<int>(spec::map_places);      // of a phase whose taps reach as many rows as any do
constexpr int short_places = static_cast<int>(spec::short_places);  // of the others
__host__ __device__ constexpr bool is_short(int phase_h) {
    return short_places < map_places && Rows::reach_of(phase_h) < Rows::reach;
}
/// Where a phase begins in the map: places before it.
__host__ __device__ constexpr int phase_start(int phase_h, int phase_w) {
    int start = 0;
    for (int i = 0; i < phase_h; ++i) start += phases_w * (is_short(i) ? short_places : map_places);
    return start + phase_w * (is_short(phase_h) ? short_places : map_places);
}
constexpr int four_bytes = 16 * phase_start(phases_h, 0);
constexpr int part_bytes = fours * four_bytes;
constexpr int map_bytes = map_parts * part_bytes;

constexpr int reach_w = Columns::reach;

// A builder's thread makes one column of `map_rows` neighbouring rows, in all phases.
constexpr int map_rows = static_cast<int>(spec::map_rows);
constexpr int group_lines = Rows::residue(phases_h - 1) + stride_h * (pool_h - 1) + 1;  // of pixels, behind one row
constexpr int block_lines = (map_rows - 1) * Rows::step + group_lines;
constexpr int column_loads = Columns::residue(phases_w - 1) + stride_w * (pool_w - 1) + 1;

__host__ __device__ constexpr bool uses_line(int line) {
    for (int row = 0; row < map_rows; ++row) {
        for (int phase = 0; phase < phases_h; ++phase) {
            for (int dy = 0; dy < pool_h; ++dy) {
                if (row * Rows::step + Rows::residue(phase) + stride_h * dy == line) return true;
            }
        }
    }
    return false;
}
__host__ __device__ constexpr bool uses_column(int column) {
    for (int phase = 0; phase < phases_w; ++phase) {
        for (int dx = 0; dx < pool_w; ++dx) {
            if (Columns::residue(phase) + stride_w * dx == column) return true;
        }
    }
    return false;
}

// Registers change hands at the start. Consumers hold two sets of accumulators; builders get the rest.
constexpr int entry_registers = 65536 / threads;
constexpr int wished_registers = tile_places + 8;
constexpr int consumer_registers = wished_registers < 152 ? 152 : wished_registers;
constexpr int builder_registers = 2 * entry_registers - consumer_registers;
static_assert(consumer_registers % 8 == 0 && entry_registers == 128);

// What a tile has no more of: runs of pixels in each channel, and columns for builders.
constexpr int most_runs = static_cast<int>(spec::runs);
constexpr int most_columns = static_cast<int>(spec::columns);

// Floats that a segment's pixels may take beside their lines: for alignment, and for columns of the map past the last position's.
constexpr int pixel_slack = 12 + Columns::step;

// How far warps may be apart. Where a unit has one group of four channels, the feeding warp is `pixel_stages` units ahead of the
// builders, these two ahead of the consumers, and these one ahead of the finishing warp.
constexpr int pixel_stages = static_cast<int>(spec::pixel_stages);
constexpr int unit_places = 16;
static_assert(pixel_stages <= 4);

// Shared memory, from its start.
constexpr int sum_rows = consumer_warps;                            // 16 filters each
constexpr int pixel_floats = static_cast<int>(spec::pixel_floats);  // of one stage
constexpr int barriers_at = 0;
constexpr int units_at = round_up(barriers_at + 8 * (2 * stages + 2 * pixel_stages + 6), 16);
constexpr int runs_at = units_at + unit_places * 32;
constexpr int columns_at = runs_at + most_runs * 16;
constexpr int last_at = columns_at + most_columns * 16;  // whether the block was the last of a half unit's
constexpr int sums_at = last_at + (may_be_beside ? 16 : 0);
constexpr int pixels_at = round_up(sums_at + sum_rows * tile_places * 4, 128);
constexpr int maps_at = round_up(pixels_at + pixel_stages * pixel_floats * 4, 128);
constexpr int stages_at = round_up(maps_at + 2 * map_bytes, 128);
constexpr int shared_bytes = stages_at + stages * step_bytes;
static_assert(shared_bytes <= 227 * 1024);

}  // namespace kiln
