// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sizes of one specialisation: what the spec and the tile fix.
namespace kiln {

// Warps: `warpgroups` consumer warpgroups, each with 64 positions of the tile and all its filters; then `builders` warpgroups,
// whose last warps feed the others and add up images while the others build maps (below).
constexpr int warpgroups = static_cast<int>(spec::warpgroups);
constexpr int builders = static_cast<int>(spec::builders);
constexpr int consumer_threads = 128 * warpgroups;
constexpr int threads = 128 * (warpgroups + builders);

// The tile: a run of positions (n, i, j), flattened, by `filters` filters. `fixed_splits` blocks of a cluster divide the
// channels; 0: as many as the launch says, up to `most_splits`.
constexpr int tile_positions = 64 * warpgroups;

// Boxes come from maps, or consumers sum them from pixels themselves, each thread those of two neighbouring positions, which
// have many in common. Then tiles are runs of such pairs, the last of an odd row overlapping the one before: rows of a fragment
// g and g + 8 are a pair. A place is a pair or, with maps, a position.
constexpr bool has_maps = spec::map_rows > 0;
constexpr int place_positions = has_maps ? 1 : 2;
constexpr int tile_places = tile_positions / place_positions;
constexpr int filters = static_cast<int>(spec::filters);
constexpr int filter_tiles = ceil_divide(out_channels, filters);
constexpr int fixed_splits = static_cast<int>(spec::splits);
constexpr int most_splits = fixed_splits == 0 ? 8 : fixed_splits;

// The reduction goes over chunks of channels, and a chunk's over items: one tap of four channels, or, where channels do not come
// in fours, up to four taps of one line and channel. The four lanes that share a row of a fragment take one each. Two items are a
// k-step of the tensor cores; k-steps are divided into batches of nearly equal length. A batch is one chain of products: its sum
// starts at zero and is added, rounded to nearest, to the running sums. One batch of weights is one stage of their ring.
constexpr int chunk_channels = static_cast<int>(spec::channels);
constexpr int chunks = ceil_divide(in_channels, chunk_channels);
constexpr bool lanes_are_channels = chunk_channels % 4 == 0;
// Without maps a four is channels 0, 1, 4 and 5 of eight, or 2, 3, 6 and 7: where the channels of an image are an odd number of
// pixels apart, as they then are in shared memory too, lanes' pairs meet in no bank.
constexpr bool twos_in_turn = !has_maps && in_channels % 8 == 0;
constexpr int line_items = lanes_are_channels ? 1 : ceil_divide(kernel_w, 4);  // that a line of taps takes
constexpr int chunk_items = lanes_are_channels ? chunk_channels / 4 * taps : chunk_channels * kernel_h * line_items;
constexpr int chunk_steps = ceil_divide(chunk_items, 2);
constexpr int batches = ceil_divide(chunk_steps, static_cast<int>(spec::steps));
constexpr int long_steps = ceil_divide(chunk_steps, batches);           // k-steps of the first batches …
constexpr int long_batches = chunk_steps - batches * (long_steps - 1);  // … this many; the others have one less

// Registers change hands at the start: the compiler caps all threads at what the block's size allows. Consumers get what two sets
// of accumulators, a batch's fragments and the next one's values take, builders the rest, but no less than they need.
constexpr int entry_registers = 65536 / threads / 8 * 8;
constexpr bool moves_registers = threads > 256;
constexpr int wished_registers = filters + 12 * long_steps + (has_maps ? 32 : 80);
constexpr int left_registers = (entry_registers * threads - wished_registers * consumer_threads) / (128 * builders) / 8 * 8;
constexpr int most_builder_registers = entry_registers < 136 ? entry_registers : 136;
constexpr int builder_registers = left_registers < 64                       ? 64
                                  : left_registers < most_builder_registers ? left_registers
                                                                            : most_builder_registers;
constexpr int spare_registers = (entry_registers * threads - builder_registers * 128 * builders) / consumer_threads / 8 * 8;
constexpr int consumer_registers = spare_registers < 232 ? spare_registers : 232;
static_assert(!moves_registers || (builder_registers <= entry_registers && consumer_registers >= entry_registers));

// How a product is made: of rounded operands alone, or with corrections, which come as two more tf32 products or as one of bf16
// that is twice as deep.
enum class Products { tf32, tf32_corrected_by_tf32, tf32_corrected_by_bf16 };
constexpr Products products = spec::is_tf32 != 0            ? Products::tf32
                              : spec::bf16_corrections != 0 ? Products::tf32_corrected_by_bf16
                                                            : Products::tf32_corrected_by_tf32;

// Weights in the order of their use: a step's rounded weights, then their corrections, each `operand_bytes` of core matrices.
constexpr int operand_bytes = 8 * filters * 4;
constexpr int step_bytes = operand_bytes * (products == Products::tf32 ? 1 : 2);
constexpr int stages = static_cast<int>(spec::stages);
constexpr int stage_bytes = long_steps * step_bytes;
constexpr int most_chunks = ceil_divide(chunks, fixed_splits == 0 ? 1 : fixed_splits);  // of a block
constexpr bool weights_stay = filter_tiles == 1 && most_chunks * batches <= stages;     // they are fetched once

// One warp feeds pixels and one adds up images. Weights that stay are fetched by the latter, before there are images; others keep
// a warp of their own busy.
constexpr int builder_warps = 4 * builders - (weights_stay ? 2 : 3);
constexpr int pixel_warp = consumer_threads / 32 + builder_warps, finishing_warp = threads / 32 - 1;
constexpr int weight_warp = weights_stay ? finishing_warp : finishing_warp - 1;
constexpr int bias_bytes = round_up(filter_tiles * filters * 4, 128);

/// The first k-step of a chunk's batch, and how many it has.
__device__ __forceinline__ constexpr int first_step(int batch) {
    return batch * long_steps - (batch > long_batches ? batch - long_batches : 0);
}
__device__ __forceinline__ constexpr int steps_of(int batch) {
    return batch < long_batches ? long_steps : long_steps - 1;
}

/// What an item's first lane reads. The padding after the last item has weights of zero, on values that the windows use anyway.
struct Item {
    int channel, ky, kx;
};
__host__ __device__ constexpr Item item(int index) {
    if (index >= chunk_items) index = has_maps ? 0 : chunk_items - 1;
    if (lanes_are_channels) {
        constexpr int fours = ceil_divide(chunk_channels, 4);
        const int tap = has_maps ? index / fours : index % taps, four = has_maps ? index % fours : index / taps;
        return {four * 4, tap / kernel_w, tap % kernel_w};
    }
    return {index / line_items / kernel_h, index / line_items % kernel_h, index % line_items * 4};
}

// The work on a map is divided into blocks of `map_rows` row groups.
constexpr int map_rows = has_maps ? static_cast<int>(spec::map_rows) : 1;

// The lines of pixels behind one row group, and behind `map_rows`; those that a group shares with the next; those of a segment's
// last group that the segment has.
constexpr int group_lines = Rows::residue(phases_h - 1) + stride_h * (pool_h - 1) + 1;
constexpr int block_lines = (map_rows - 1) * Rows::step + group_lines;
constexpr int kept_lines = group_lines > Rows::step ? group_lines - Rows::step : 0;
constexpr int last_lines = window_h - Rows::step * reach_h;

/// Whether one of the `groups` groups that begin with the line 0 uses this line.
__host__ __device__ constexpr bool uses_line(int line, int groups) {
    for (int group = 0; group < groups; ++group) {
        for (int phase = 0; phase < phases_h; ++phase) {
            for (int dy = 0; dy < pool_h; ++dy) {
                if (group * Rows::step + Rows::residue(phase) + stride_h * dy == line) return true;
            }
        }
    }
    return false;
}

// A thread makes one column of one phase at a time, or, where columns are an odd number of pixels apart and registers suffice for
// their sums (and padding's predicates), all phases: neighbouring threads' pixels then lie in different banks, and phases share
// what they load.
constexpr bool have_registers = group_lines * phases_w + (padding_h > 0 || padding_w > 0 ? 32 : 0) <= 80;
constexpr int phases_at_once = Columns::step % 2 == 1 && have_registers ? phases_w : 1;
constexpr int column_loads = (phases_at_once == 1 ? 0 : Columns::residue(phases_w - 1)) + stride_w * (pool_w - 1) + 1;

// It makes a block's row groups in turn where one's pixels are enough to be busy with, and few enough to hold; otherwise all at
// once.
constexpr int group_loads = (group_lines - kept_lines) * column_loads;
constexpr bool builds_in_turn = group_loads >= 9 && group_loads <= 24;

// What a tile has no more of: blocks of its map, and runs of pixels in each channel.
constexpr int most_blocks = 64, most_runs = 64;

// Floats that a segment's pixels may take beside their lines, for alignment.
constexpr int pixel_slack = 12;

// How far warps may be apart. Where a chunk is a unit, the fetching warp is `pixel_stages` units ahead of the builders, these two
// ahead of the consumers, and these two ahead of the finishing warp.
constexpr int pixel_stages = static_cast<int>(spec::pixel_stages);
constexpr int unit_places = 8, block_places = pixel_stages + 1;
static_assert(pixel_stages <= 3);

// Shared memory, from its start.
constexpr int pixel_floats = static_cast<int>(spec::pixel_floats);  // of one stage
constexpr int map_floats = static_cast<int>(spec::map_floats);      // of one map
constexpr int barriers_at = 0;
constexpr int units_at = round_up(barriers_at + 8 * (2 * stages + 2 * pixel_stages + 8), 16);
constexpr int share_at = units_at + unit_places * 32;
constexpr int runs_at = share_at + 48;
constexpr int blocks_at = runs_at + most_runs * 16;
constexpr int sums_at = blocks_at + (has_maps ? block_places * most_blocks * 32 : 0);
constexpr int pixels_at = round_up(sums_at + 2 * tile_places * 4, 128);
constexpr int maps_at = round_up(pixels_at + pixel_stages * pixel_floats * 4, 128);
constexpr int stages_at = round_up(maps_at + 2 * map_floats * 4, 128);
constexpr int shared_bytes = stages_at + stages * stage_bytes;
static_assert(shared_bytes == spec::shared_bytes);
static_assert(most_splits == 1 ||
              shared_bytes - pixels_at >= tile_positions * filters * 4);  // the exchange lies over pixels, maps and stages
static_assert(filters % 8 == 0 && filters <= 128);

}  // namespace kiln
