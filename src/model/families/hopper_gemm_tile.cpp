// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_gemm_tile.hpp"

#include <algorithm>
#include <numeric>

#include "model/families/hopper_gemm_windows.hpp"
#include "model/geometry.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

/// How many lines of length `line` a run of `run` neighbours can touch, where runs follow each other from a line's start.
constexpr std::int64_t lines_touched(std::int64_t run, std::int64_t line) {
    if (run % line == 0 || line % run == 0) return ceil_divide(run, line);
    return (run + line - 2) / line + 1;
}

/// What a tile may have: blocks of row groups, and runs of pixels.
constexpr std::int64_t most_blocks = 64, most_runs = 64;

/// Floats that a segment's pixels may take beside their lines, for alignment.
constexpr std::int64_t pixel_slack = 12;

/// The next number from `value` on that leaves `remainder` modulo 32.
constexpr std::int64_t up_to_bank(std::int64_t value, std::int64_t remainder) {
    return value + ((remainder - value) & 31);
}

}  // namespace

std::int64_t GemmAxis::phases() const {
    return reach() == 0 ? taps : step / std::gcd(dilation, step);
}

std::int64_t GemmAxis::last_residue() const {
    return (reach() == 0 ? dilation : std::gcd(dilation, step)) * (phases() - 1);
}

GemmAxis gemm_rows(const ModelSpec& spec) {
    return {spec.kernel_size.height, spec.stride.height * spec.pool_kernel_size.height, spec.dilation.height};
}

GemmAxis gemm_columns(const ModelSpec& spec) {
    return {spec.kernel_size.width, spec.stride.width * spec.pool_kernel_size.width, spec.dilation.width};
}

GemmColumn::GemmColumn(const ModelSpec& spec) {
    const GemmAxis rows = gemm_rows(spec), columns = gemm_columns(spec);
    group_lines = rows.last_residue() + spec.stride.height * (spec.pool_kernel_size.height - 1) + 1;
    const bool is_padded = spec.padding.height > 0 || spec.padding.width > 0;
    const bool have_registers = group_lines * columns.phases() + (is_padded ? 32 : 0) <= 80;
    phases = columns.step % 2 == 1 && have_registers ? columns.phases() : 1;
    loads = (phases == 1 ? 0 : columns.last_residue()) + spec.stride.width * (spec.pool_kernel_size.width - 1) + 1;
    kept_lines = std::max<std::int64_t>(0, group_lines - rows.step);
}

std::int64_t GemmTile::input_channel(const ModelSpec& spec, std::int64_t chunk, std::int64_t channel) const {
    const std::int64_t place = chunk * channels + channel;
    if (!twos_in_turn(spec)) return place;
    return place / 8 * 8 + place / 4 % 2 * 2 + place / 2 % 2 * 4 + place % 2;
}

std::int64_t GemmTile::all_places(const ModelSpec& spec, const Shape& shape) const {
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    return shape.batch * pooled.height * row_places(pooled.width);
}

std::int64_t GemmTile::chunk_items(const ModelSpec& spec) const {
    if (channels % 4 == 0) return channels / 4 * spec.kernel_size.height * spec.kernel_size.width;
    return channels * spec.kernel_size.height * ceil_divide(spec.kernel_size.width, 4);
}

std::int64_t GemmTile::chunk_steps(const ModelSpec& spec) const {
    return ceil_divide(chunk_items(spec), 2);
}
std::int64_t GemmTile::batches(const ModelSpec& spec) const {
    return ceil_divide(chunk_steps(spec), steps);
}
std::int64_t GemmTile::long_steps(const ModelSpec& spec) const {
    return ceil_divide(chunk_steps(spec), batches(spec));
}

std::int64_t GemmTile::step_bytes(const ModelSpec& spec) const {
    return operand_bytes() * (spec.math == Math::tf32 ? 1 : 2);
}

std::int64_t GemmTile::bias_bytes(const ModelSpec& spec) const {
    return round_up(filter_tiles(spec) * filters * 4, 128);
}

std::int64_t GemmTile::shared_bytes(const ModelSpec& spec) const {
    std::int64_t bytes = round_up(8 * (2 * stages + 2 * pixel_stages + 8), 16);  // barriers
    bytes += std::int64_t{8} * 32 + 48 + most_runs * 16;                         // units, share, runs
    if (has_maps()) bytes += (pixel_stages + 1) * most_blocks * 32;
    bytes = round_up(bytes + 2 * places() * 4, 128);  // their sums
    bytes = round_up(bytes + pixel_stages * pixel_floats * 4, 128);
    bytes = round_up(bytes + 2 * map_floats * 4, 128);
    return bytes + stages * long_steps(spec) * step_bytes(spec);
}

std::int64_t GemmTile::reserve(const ModelSpec& spec, const Shape& shape, std::int64_t bytes) {
    const GemmLayout least = GemmLayout::least(spec, *this);
    for (std::int64_t at_once = places(); at_once >= 8; at_once -= 8) {
        const GemmLayout layout(spec, *this, shape, at_once);
        map_floats = has_maps() ? round_up(std::max(least.map_floats, layout.map_floats), 32) : 0;
        pixel_floats = round_up(std::max(least.pixel_floats, layout.pixel_floats), 32);
        if (layout.is_listable(*this) && shared_bytes(spec) <= bytes) return at_once;
    }
    return 0;
}

void GemmTile::fill(const ModelSpec& spec, std::int64_t bytes) {
    const std::int64_t used = 4 * (pixel_stages * pixel_floats + 2 * map_floats), left = bytes - shared_bytes(spec);
    if (has_maps()) map_floats += map_floats * left / used / 32 * 32;
    pixel_floats += pixel_floats * left / used / 32 * 32;
}

bool GemmTile::can_split() const {
    return pixel_stages * pixel_floats + 2 * map_floats >= 64 * warpgroups * filters;
}

bool GemmTile::weights_stay(const ModelSpec& spec) const {
    const std::int64_t most_chunks = ceil_divide(chunks(spec), std::max<std::int64_t>(1, splits));
    return filter_tiles(spec) == 1 && most_chunks * batches(spec) <= stages;
}

std::int64_t GemmTile::builder_warps(const ModelSpec& spec) const {
    return 4 * builders - (weights_stay(spec) ? 2 : 3);
}

std::int64_t GemmTile::builder_registers(const ModelSpec& spec) const {
    const std::int64_t entry = 65536 / threads() / 8 * 8;
    const std::int64_t left = (entry * threads() - wished_registers(spec) * 128 * warpgroups) / (128 * builders) / 8 * 8;
    return std::clamp<std::int64_t>(left, 64, std::min<std::int64_t>(entry, 136));
}

std::int64_t GemmTile::consumer_registers(const ModelSpec& spec) const {
    const std::int64_t all = 65536 / threads() / 8 * 8 * threads();
    return std::min<std::int64_t>(232, (all - builder_registers(spec) * 128 * builders) / (128 * warpgroups) / 8 * 8);
}

std::int64_t GemmTile::needed_builder_registers(const ModelSpec& spec) const {
    const GemmColumn column(spec);
    // Whether each column is inside; as much as tiles needed that spilled.
    const bool is_padded = spec.padding.height > 0 || spec.padding.width > 0;
    const bool is_small = column.loads <= 4 && spec.kernel_size.width <= 5;
    const std::int64_t predicates = !is_padded ? 0 : is_small ? 8 : std::max<std::int64_t>(32, 4 * column.loads - 12);
    if (column.builds_in_turn()) {
        return column.group_lines * column.phases + column.group_loads() + predicates + 40;
    }
    return column.lines(map_rows) * column.phases + column.loads + predicates + 44;
}

std::int64_t GemmTile::wished_registers(const ModelSpec& spec) const {
    return filters + 12 * long_steps(spec) + (has_maps() ? 32 : 80);
}

GemmLayout::GemmLayout(const ModelSpec& spec, const GemmTile& tile, const Shape& shape, std::int64_t places_) : places(places_) {
    const GemmAxis rows_axis = gemm_rows(spec), columns_axis = gemm_columns(spec);
    const Size2 pooled = pooled_size_unchecked(spec, shape), window = window_size(spec);
    const std::int64_t width = tile.row_places(pooled.width);
    by_rows = width > places;
    const std::int64_t rows = lines_touched(places, width);
    const std::int64_t images = lines_touched(places, pooled.height * width);
    const std::int64_t segments = by_rows ? rows : std::min(rows, images);

    groups = rows + segments * rows_axis.reach();
    const std::int64_t map_rows = std::max<std::int64_t>(1, tile.map_rows);
    blocks = (groups + segments * (map_rows - 1)) / map_rows;
    // All segments but one end in a block that is half full.
    const std::int64_t usual_segments = by_rows ? rows : ceil_divide(places, pooled.height * width);
    const std::int64_t usual_groups = rows + usual_segments * rows_axis.reach();
    usual_blocks = ceil_divide(2 * usual_groups + (usual_segments - 1) * (map_rows - 1), 2 * map_rows);
    pitch = (by_rows ? places : width) + columns_axis.reach();
    runs = segments * (by_rows ? window.height : 1);
    phase_stride = groups * rows_axis.phases() * pitch;
    const std::int64_t phases = columns_axis.phases();
    if (phases > 1) phase_stride = up_to_bank(phase_stride, 32 / phases);
    channel_stride = phase_stride * phases;
    if (tile.channels % 4 == 0) channel_stride = up_to_bank(channel_stride, 8);
    map_floats = tile.has_maps() ? channel_stride * tile.channels : 0;

    // A copy's ends reach up to three floats beyond a row's pixels.
    const std::int64_t needed = (places * tile.place_positions() - 1) * columns_axis.step + window.width + 6;
    pixel_pitch = by_rows ? needed + ((shape.width - needed) & 3) : shape.width;
    lines = rows * rows_axis.step + segments * std::max<std::int64_t>(0, window.height - rows_axis.step);
    pixel_channel_stride = round_up(lines * pixel_pitch + pixel_slack * segments, 4);
    if (!tile.has_maps())
        pixel_channel_stride = apart_in_banks(pixel_channel_stride, 2 * columns_axis.step, shape, tile.twos_in_turn(spec));
    pixel_floats = pixel_channel_stride * tile.channels;
}

bool GemmLayout::is_listable(const GemmTile& tile) const {
    return runs <= most_runs && (blocks <= most_blocks || !tile.has_maps());
}

bool GemmLayout::fits(const GemmTile& tile) const {
    return map_floats <= tile.map_floats && pixel_floats <= tile.pixel_floats && is_listable(tile);
}

GemmLayout GemmLayout::largest(const ModelSpec& spec, const GemmTile& tile, const Shape& shape) {
    GemmLayout layout(spec, tile, shape, tile.places());
    while (layout.places > 8 && !layout.fits(tile)) layout = GemmLayout(spec, tile, shape, layout.places - 8);
    return layout;
}

GemmLayout GemmLayout::shrunk(const ModelSpec& spec, const GemmTile& tile, const Shape& shape, std::int64_t units_at_once) const {
    // Smaller tiles that need no more rounds have smaller maps, above all if they are whole rows or images.
    GemmLayout best = *this;
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const std::int64_t width = tile.row_places(pooled.width), area = pooled.height * width;
    const std::int64_t all = shape.batch * area, filter_tiles = tile.filter_tiles(spec);
    const std::int64_t rounds = ceil_divide(ceil_divide(all, places) * filter_tiles, units_at_once);
    const std::int64_t share = ceil_divide(all, std::max<std::int64_t>(1, rounds * units_at_once / filter_tiles));
    const std::int64_t least = std::max<std::int64_t>(8, share);
    for (const std::int64_t fewer : {least, round_up(least, width), round_up(least, area)}) {
        if (fewer > tile.places()) continue;
        const GemmLayout layout(spec, tile, shape, fewer);
        if (layout.fits(tile) && layout.groups < best.groups && layout.runs <= best.runs) best = layout;
    }
    return best;
}

GemmLayout GemmLayout::least(const ModelSpec& spec, const GemmTile& tile) {
    // Wider rows of places than 8 are segments by themselves, and taller images than 8 are one or two.
    const Size2 window = window_size(spec);
    const GemmAxis rows_axis = gemm_rows(spec), columns_axis = gemm_columns(spec);
    GemmLayout most(spec, tile, {1, window.height, window.width}, 8);
    for (std::int64_t width = 1; width <= 9 * tile.place_positions(); ++width) {
        for (std::int64_t height = 1; height <= 9; ++height) {
            // The most pixels that give so many positions.
            const Shape shape{.batch = 1,
                              .height = window.height + height * rows_axis.step - 1,
                              .width = window.width + width * columns_axis.step - 1};
            const GemmLayout layout(spec, tile, shape, 8);
            most.map_floats = std::max(most.map_floats, layout.map_floats);
            most.pixel_floats = std::max(most.pixel_floats, layout.pixel_floats);
        }
    }
    most.pixel_floats +=
        3 * most.lines * tile.channels;  // the pitch of rows that are segments is rounded up with the image's width
    return most;
}

}  // namespace kiln
