// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_stream_tile.hpp"

#include <algorithm>

#include "model/geometry.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

constexpr std::int64_t warp_columns = 16;
constexpr std::int64_t max_chain = 9;  // k-steps that one chain on the tensor cores adds up
constexpr std::int64_t producer_registers = 56;
constexpr std::int64_t max_slots = 16;  // of a stream
constexpr std::int64_t most_bank_bytes = 112;

std::int64_t lead(const ModelSpec& spec) {
    return (4 - spec.padding.width % 4) % 4;
}
bool pads(const ModelSpec& spec) {
    return spec.padding.height > 0 || spec.padding.width > 0;
}
std::int64_t taps(const ModelSpec& spec) {
    return spec.kernel_size.height * spec.kernel_size.width;
}

}  // namespace

StreamTile StreamTile::from(const Tile& tile) {
    return {.warps = tile_value(tile, "warps"),
            .channels = tile_value(tile, "channels"),
            .keeps_rows = tile_value(tile, "keeps_rows"),
            .stage_rows = tile_value(tile, "stage_rows"),
            .filters = tile_value(tile, "filters")};
}

Tile StreamTile::render() const {
    return {{"warps", warps},           {"channels", channels}, {"keeps_rows", keeps_rows},
            {"stage_rows", stage_rows}, {"filters", filters},   {"shared_bytes", stream_shared_bytes}};
}

std::int64_t StreamTile::passes(const ModelSpec& spec) const {
    return ceil_divide(spec.in_channels, channels);
}
std::int64_t StreamTile::stage_channels(const ModelSpec& spec) const {
    return std::min(channels, spec.in_channels);
}
std::int64_t StreamTile::first_channel(const ModelSpec& spec, std::int64_t pass) const {
    return std::min(pass * channels, spec.in_channels - stage_channels(spec));
}
std::int64_t StreamTile::lane_values(const ModelSpec& spec) const {
    return channels / 4 * taps(spec);
}
std::int64_t StreamTile::k_steps(const ModelSpec& spec) const {
    return ceil_divide(lane_values(spec), 2);
}
std::int64_t StreamTile::chains(const ModelSpec& spec) const {
    return k_steps(spec) <= max_chain ? 1 : ceil_divide(k_steps(spec), max_chain - 1);
}
std::int64_t StreamTile::filter_tiles(const ModelSpec& spec) const {
    return ceil_divide(spec.out_channels, filters);
}
std::int64_t StreamTile::kept_rows(const ModelSpec& spec) const {
    const std::int64_t shared = window_size(spec).height - spec.stride.height * spec.pool_kernel_size.height;
    return keeps_rows != 0 ? std::max<std::int64_t>(shared, 0) : 0;
}
std::int64_t StreamTile::unit_rows(const ModelSpec& spec) const {
    return window_size(spec).height - kept_rows(spec);
}

std::int64_t StreamTile::pass_stages(const ModelSpec& spec) const {
    return ceil_divide(unit_rows(spec), stage_rows);
}
std::int64_t StreamTile::rows_at_once(const ModelSpec& spec) const {
    if (!stages_are_equal(spec)) return 1;
    std::int64_t rows = std::min<std::int64_t>(stage_rows, pads(spec) ? 2 : 7);
    while (stage_rows % rows != 0) --rows;
    return rows;
}
std::int64_t StreamTile::pieces_at_once(const ModelSpec& spec) const {
    return std::clamp<std::int64_t>(8 / rows_at_once(spec), 1, 4);
}

std::int64_t StreamTile::step_bytes(const ModelSpec& spec) const {
    return operand_bytes() * (spec.math == Math::tf32 ? 1 : 2);
}
std::int64_t StreamTile::bias_bytes(const ModelSpec& spec) const {
    return round_up(filter_tiles(spec) * filters * 4, 16);
}
std::int64_t StreamTile::weights_bytes(const ModelSpec& spec) const {
    return passes(spec) * filter_tiles(spec) * k_steps(spec) * step_bytes(spec) + bias_bytes(spec);
}

std::int64_t StreamTile::max_pitch(const ModelSpec& spec, std::int64_t strip_blocks) const {
    const std::int64_t column_step = spec.stride.width * spec.pool_kernel_size.width;
    return pitch(spec,
                 lead(spec) + (warp_columns * strip_blocks + 1) * column_step + window_size(spec).width + spec.stride.width);
}
bool StreamTile::stages_are_equal(const ModelSpec& spec) const {
    return kept_rows(spec) % stage_rows == 0 && unit_rows(spec) % stage_rows == 0;
}
bool StreamTile::has_panels(const ModelSpec& spec) const {
    const std::int64_t step = spec.stride.width * spec.pool_kernel_size.width;
    return !pads(spec) && stage_rows > 1 && stages_are_equal(spec) && stage_channels(spec) % 4 == 0 && step % 2 == 0 &&
           ceil_divide(step + window_size(spec).width, 4) <= 3;
}
std::int64_t StreamTile::pitch(const ModelSpec& spec, std::int64_t columns) const {
    return round_up(columns, has_panels(spec) ? panel_columns : 4);
}
std::int64_t StreamTile::slot_head_bytes(const ModelSpec& spec) const {
    return has_panels(spec) ? 1024 : 128;
}
std::int64_t StreamTile::channel_bytes(std::int64_t pitch) const {
    return round_up(stage_rows * pitch * 4 + most_bank_bytes, 128);
}
std::int64_t StreamTile::slot_bytes(const ModelSpec& spec, std::int64_t pitch) const {
    if (!has_panels(spec)) return slot_head_bytes(spec) + channels * channel_bytes(pitch);
    return slot_head_bytes(spec) + pitch / panel_columns * round_up(stage_rows * stage_channels(spec) * panel_columns * 4, 1024);
}
std::int64_t StreamTile::ring_bytes(const ModelSpec& spec) const {
    const std::int64_t weights_offset = round_up(16 + 104 * warps, 128);
    const std::int64_t ring_offset = round_up(weights_offset + weights_bytes(spec), slot_head_bytes(spec));
    const std::int64_t pair_columns = spec.stride.width * spec.pool_kernel_size.width + window_size(spec).width;
    return stream_shared_bytes - ring_offset - round_up(4 * (lead(spec) + pair_columns + 4), 128);
}
std::int64_t StreamTile::most_streams(const ModelSpec& spec, std::int64_t strip_blocks, std::int64_t pitch) const {
    if (ring_bytes(spec) < 0) return 0;
    const std::int64_t slots = ring_bytes(spec) / slot_bytes(spec, pitch);
    return slots < 1 ? 0 : std::min(warps / strip_blocks, std::max<std::int64_t>(1, slots / 2));
}
bool StreamTile::fits(const ModelSpec& spec) const {
    return most_streams(spec, 1, max_pitch(spec, 1)) >= 1;
}

std::int64_t StreamTile::consumer_registers() const {
    return std::min<std::int64_t>(232, (65536 / 128 - producer_registers) / (warps / 4) / 8 * 8);
}
std::int64_t StreamTile::registers(const ModelSpec& spec) const {
    const std::int64_t parts = spec.math == Math::tf32 ? 1 : 2;
    const std::int64_t row_sums = channels / 4 * 2 * spec.kernel_size.width;  // of one row, in a lane
    // Rows that more than two windows share move up by a window, which takes a few more.
    const bool moves_up = kept_rows(spec) > spec.stride.height * spec.pool_kernel_size.height;
    const std::int64_t kept = kept_rows(spec) * row_sums + (moves_up ? 8 : 0);
    const std::int64_t fragments = 4 * k_steps(spec) * parts;
    const std::int64_t sums = chains(spec) * passes(spec) > 1 ? filters / 2 : 0;
    const std::int64_t pixels = spec.stride.width * spec.pool_kernel_size.width + window_size(spec).width + 3;

    // When products are made; when boxes are summed.
    const std::int64_t multiplying = fragments + filters / 2 + sums;
    const std::int64_t left = kept_rows(spec) > 0 ? 0 : (spec.kernel_size.height - 1) * row_sums;
    const std::int64_t summing = left + 2 * lane_values(spec) + row_sums + 2 * pixels + sums;
    const std::int64_t state =
        22 + channels / 4 + (filter_tiles(spec) > 1 ? 6 : 0) + (passes(spec) > 1 ? 12 : 0) + (chains(spec) > 1 ? 16 : 0);
    return state + kept + std::max(multiplying, summing);
}

StreamLayout::StreamLayout(const ModelSpec& spec, const StreamTile& tile, const Shape& shape, std::int64_t multiprocessors,
                           std::int64_t least_strips, bool wants_own_images) {
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const std::int64_t row_blocks = ceil_divide(pooled.width, warp_columns);
    // Tensor copies take an image's number in 32 bits.
    may_bulk = !pads(spec) && shape.width % 4 == 0 && (!tile.has_panels(spec) || shape.batch <= INT32_MAX);
    for (std::int64_t wished = std::max(least_strips, ceil_divide(row_blocks, tile.warps));; ++wished) {
        blocks = ceil_divide(row_blocks, wished);
        strips = ceil_divide(row_blocks, blocks);
        rows_together = may_bulk && strips == 1 && !tile.has_panels(spec);
        const std::int64_t columns = std::min(warp_columns * blocks, pooled.width);
        const std::int64_t used =
            lead(spec) + (columns - 1) * spec.stride.width * spec.pool_kernel_size.width + window_size(spec).width;
        pitch = rows_together ? shape.width : tile.pitch(spec, used);
        if (blocks == 1 || tile.most_streams(spec, blocks, pitch) >= 1) break;
    }
    units = shape.batch * strips * pooled.height;
    channel_bytes = tile.channel_bytes(pitch);
    slot_bytes = tile.slot_bytes(spec, pitch);

    const std::int64_t images = ceil_divide(shape.batch, multiprocessors);
    own_images = wants_own_images && images <= most_own_images ? images : 0;
    grid = own_images > 0 ? ceil_divide(shape.batch, images)
                          : std::min(multiprocessors, units);  // a block takes a multiprocessor to itself
    shared_units = own_images > 0 ? images * strips * pooled.height : units;
    const std::int64_t most_streams = tile.most_streams(spec, blocks, pitch);
    shared_runs = std::min(shared_units, own_images > 0 ? most_streams : grid * most_streams);
    streams = own_images > 0 ? shared_runs : ceil_divide(shared_runs, grid);
    // No more slots than the longest run has stages: each costs two barriers to set up.
    const std::int64_t stages = tile.passes(spec) * tile.pass_stages(spec) + ceil_divide(tile.kept_rows(spec), tile.stage_rows);
    slots = std::min({tile.ring_bytes(spec) / slot_bytes / streams, longest_run() * stages, max_slots});
}

std::int64_t StreamLayout::longest_run() const {
    return ceil_divide(shared_units, shared_runs);
}

std::array<std::int64_t, 8> StreamLayout::words() const {
    const auto pair = [](std::int64_t low, std::int64_t high) { return low | high << 32; };
    return {pair(pitch, channel_bytes),
            pair(slot_bytes, slots),
            pair(blocks, strips),
            pair(shared_runs, shared_units % shared_runs),
            shared_units / shared_runs,
            pair(streams, (may_bulk ? 1 : 0) | (rows_together ? 2 : 0)),
            pair(own_images, own_images > 0 ? shared_units : 0)};
}

}  // namespace kiln
