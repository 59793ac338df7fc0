// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_shift_tile.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "model/families/hopper_gemm_tile.hpp"
#include "model/geometry.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

/// Tiles of so many places must fit, whatever the shape, in strips of at most so many positions.
constexpr std::int64_t least_places = 32, least_width = 8;

/// Columns of a map take little room: where any shape may come, there is some for wide images.
constexpr std::int64_t most_listed_columns = 144;

/// How many lines of length `line` a run of `run` neighbours can touch, wherever it starts.
constexpr std::int64_t most_touched(std::int64_t run, std::int64_t line) {
    return (run + line - 2) / line + 1;
}

std::int64_t residue(const GemmAxis& axis, std::int64_t tap) {
    return axis.dilation * tap % axis.step;
}

/// The largest distance of a box's start from its position's.
std::int64_t last_residue(const GemmAxis& axis) {
    std::int64_t last = 0;
    for (std::int64_t tap = 0; tap < axis.taps; ++tap) last = std::max(last, residue(axis, tap));
    return last;
}

/// How many rows each phase's taps reach.
std::vector<std::int64_t> reaches(const GemmAxis& axis) {
    std::map<std::int64_t, std::int64_t> reach_of;  // by the boxes' start
    for (std::int64_t tap = 0; tap < axis.taps; ++tap) {
        reach_of[residue(axis, tap)] = axis.dilation * tap / axis.step;
    }
    std::vector<std::int64_t> all;
    all.reserve(reach_of.size());
    for (const auto& [start, reach] : reach_of) all.push_back(reach);
    return all;
}

/// The most rows of a strip that a tile can have where images are beside each other.
std::int64_t most_tile_rows(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape, std::int64_t strips) {
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const std::int64_t reach = gemm_columns(spec).reach();
    return std::min(pooled.height, (tile.places / ShiftTile::most_beside + reach) / (ceil_divide(pooled.width, strips) + reach));
}

/// Floats between lines of pixels of a strip, at least. A copy's ends reach up to three floats beyond a line's pixels, and
/// builders a step beyond a strip's.
std::int64_t strip_pitch(const ModelSpec& spec, std::int64_t strip_width) {
    return strip_width * gemm_columns(spec).step + window_size(spec).width + 6;
}

/// The next number from `value` on that leaves `remainder` modulo 32.
constexpr std::int64_t next_in_bank(std::int64_t value, std::int64_t remainder) {
    return value + ((remainder - value) & 31);
}

}  // namespace

ShiftTile ShiftTile::from(const Tile& tile) {
    ShiftTile shift;
    shift.beside = tile_value(tile, "beside");
    shift.bf16_corrections = tile_value(tile, "bf16_corrections");
    shift.places = tile_value(tile, "places");
    shift.fours = tile_value(tile, "fours");
    shift.steps = tile_value(tile, "steps");
    shift.stages = tile_value(tile, "stages");
    shift.map_rows = tile_value(tile, "map_rows");
    shift.map_places = tile_value(tile, "map_places");
    shift.short_places = tile_value(tile, "short_places");
    shift.columns = tile_value(tile, "columns");
    shift.runs = tile_value(tile, "runs");
    shift.pixel_stages = tile_value(tile, "pixel_stages");
    shift.pixel_floats = tile_value(tile, "pixel_floats");
    return shift;
}

Tile ShiftTile::render() const {
    return {{"beside", beside},
            {"bf16_corrections", bf16_corrections},
            {"places", places},
            {"fours", fours},
            {"steps", steps},
            {"stages", stages},
            {"map_rows", map_rows},
            {"map_places", map_places},
            {"short_places", short_places},
            {"columns", columns},
            {"runs", runs},
            {"pixel_stages", pixel_stages},
            {"pixel_floats", pixel_floats}};
}

bool ShiftTile::reserve(const ModelSpec& spec, const Shape& shape, std::int64_t strips, std::int64_t together) {
    map_places = short_places = columns = runs = pixel_floats = 0;
    const auto make_room = [&](const ShiftLayout& layout) {
        map_places = std::max(map_places, layout.map_places);
        short_places = std::max(short_places, layout.short_places);
        columns = std::max(columns, layout.columns);
        runs = std::max(runs, layout.runs);
        pixel_floats = std::max(pixel_floats, layout.pixel_floats);
    };
    if (beside == most_beside) {
        const std::int64_t most_rows = most_tile_rows(spec, *this, shape, strips);
        if (most_rows == 0) return false;
        const ShiftLayout apart = ShiftLayout::beside(spec, *this, shape, strips, most_rows, false);
        const ShiftLayout whole = ShiftLayout::beside(spec, *this, shape, strips, most_rows, true);
        make_room(apart.strips == 1 && whole.pixel_floats <= 2 * apart.pixel_floats ? whole : apart);
    } else {
        make_room(ShiftLayout(spec, *this, shape, strips, places));
    }
    const Size2 window = window_size(spec);
    const GemmAxis rows_axis = gemm_rows(spec), columns_axis = gemm_columns(spec);
    for (std::int64_t side = 1; beside == 0 && side <= least_width; ++side) {
        const auto extent = [&](std::int64_t window_extent, std::int64_t step, std::int64_t padding) {
            return std::max<std::int64_t>(1, window_extent + (side - 1) * step - 2 * padding);
        };
        const Shape square{.batch = most_beside,
                           .height = extent(window.height, rows_axis.step, spec.padding.height),
                           .width = extent(window.width, columns_axis.step, spec.padding.width)};
        const std::int64_t most_rows = most_tile_rows(spec, *this, square, 1);
        if (most_rows > 0) make_room(ShiftLayout::beside(spec, *this, square, 1, most_rows, side <= together));
    }
    // Any other shape: strips of 1 to 8 positions; of 5 to 8 where they are several. Lower images have more segments.
    for (std::int64_t width = 1; width <= least_width; ++width) {
        for (std::int64_t height = 1; height <= least_places + 1; ++height) {
            for (const std::int64_t count : {1, 2}) {
                if (count > 1 && width <= least_width / 2) continue;
                // The most pixels that give so many positions.
                const Shape other{.batch = least_places,  // or so few places would not be there
                                  .height = window.height + height * rows_axis.step - 1,
                                  .width = window.width + count * width * columns_axis.step - 1};
                if (beside != most_beside) make_room(ShiftLayout(spec, *this, other, count, least_places));
                if (beside != 1 && height == 1) make_room(ShiftLayout::beside(spec, *this, other, count, 1, false));
            }
        }
    }
    if (beside == 0) columns = std::max(columns, most_listed_columns);
    pixel_floats = round_up(pixel_floats, 32);
    return true;
}

std::int64_t ShiftTile::filter_tiles(const ModelSpec& spec) {
    return ceil_divide(spec.out_channels, filters);
}
std::int64_t ShiftTile::chunks(const ModelSpec& spec) const {
    return ceil_divide(spec.in_channels, 4 * fours);
}
std::int64_t ShiftTile::chunk_steps(const ModelSpec& spec) const {
    const std::int64_t taps = spec.kernel_size.height * spec.kernel_size.width;
    return fours == 2 ? taps : ceil_divide(taps, 2);
}
std::int64_t ShiftTile::weight_parts(const ModelSpec& spec) {
    return spec.math == Math::tf32 ? 1 : 2;
}
std::int64_t ShiftTile::products(const ModelSpec& spec) const {
    return spec.math == Math::tf32 ? 1 : bf16_corrections == 1 ? 2 : 3;
}
std::int64_t ShiftTile::batches(const ModelSpec& spec) const {
    return ceil_divide(chunk_steps(spec), steps);
}
std::int64_t ShiftTile::step_bytes(const ModelSpec& spec) {
    return weight_parts(spec) * filters * 8 * 4;
}
std::int64_t ShiftTile::bias_bytes(const ModelSpec& spec) {
    return round_up(filter_tiles(spec) * filters * 4, 128);
}
std::int64_t ShiftTile::map_bytes(const ModelSpec& spec) const {
    const GemmAxis rows = gemm_rows(spec);
    std::int64_t all_places = 0;
    for (const std::int64_t phase_reach : reaches(rows)) all_places += phase_reach < rows.reach() ? short_places : map_places;
    return (spec.math == Math::tf32 ? 1 : 2) * fours * gemm_columns(spec).phases() * all_places * 16;
}

std::int64_t ShiftTile::shared_bytes(const ModelSpec& spec) const {
    std::int64_t bytes = round_up(8 * (2 * stages + 2 * pixel_stages + 6), 16);  // barriers
    bytes += std::int64_t{16} * 32 + runs * 16 + columns * 16;                   // units, runs, columns
    if (beside != 1) bytes += 16;                                                // whether the block was the last
    bytes = round_up(bytes + 8 * places * 4, 128);                               // places' sums
    bytes = round_up(bytes + pixel_stages * pixel_floats * 4, 128);
    bytes = round_up(bytes + 2 * map_bytes(spec), 128);
    return bytes + stages * step_bytes(spec);
}

std::int64_t ShiftTile::builder_registers() const {
    return 256 - std::max<std::int64_t>(152, places + 8);
}

std::int64_t ShiftTile::needed_builder_registers(const ModelSpec& spec) const {
    const GemmAxis rows = gemm_rows(spec), columns_axis = gemm_columns(spec);
    std::set<std::int64_t> lines;
    for (std::int64_t row = 0; row < map_rows; ++row) {
        for (std::int64_t tap = 0; tap < rows.taps; ++tap) {
            for (std::int64_t dy = 0; dy < spec.pool_kernel_size.height; ++dy) {
                lines.insert(row * rows.step + residue(rows, tap) + spec.stride.height * dy);
            }
        }
    }
    const std::int64_t loads = last_residue(columns_axis) + spec.stride.width * (spec.pool_kernel_size.width - 1) + 1;
    const std::int64_t sums = static_cast<std::int64_t>(lines.size()) * columns_axis.phases();
    const bool clips = spec.padding.height > 0 || spec.padding.width > 0;
    return sums + loads + (clips ? 2 * loads + sums : 0) + 34;
}

std::vector<ShiftTap> shift_taps(const ModelSpec& spec) {
    const GemmAxis rows = gemm_rows(spec), columns = gemm_columns(spec);
    std::vector<ShiftTap> taps;
    for (std::int64_t ky = 0; ky < rows.taps; ++ky) {
        for (std::int64_t kx = 0; kx < columns.taps; ++kx) taps.push_back({ky, kx});
    }
    std::stable_sort(taps.begin(), taps.end(), [&](const ShiftTap& a, const ShiftTap& b) {
        const auto phases = [&](const ShiftTap& tap) { return std::pair(residue(rows, tap.ky), residue(columns, tap.kx)); };
        return phases(a) < phases(b);
    });
    return taps;
}

void ShiftLayout::divide(const ModelSpec& spec, const Shape& shape, std::int64_t wished_strips) {
    const GemmAxis columns_axis = gemm_columns(spec);
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    strip_width = ceil_divide(pooled.width, wished_strips);
    strips = ceil_divide(pooled.width, strip_width);
    pitch = strip_width + columns_axis.reach();
    rows = pooled.height + gemm_rows(spec).reach();
    const std::int64_t needed = strip_pitch(spec, strip_width);
    pixel_pitch = strips == 1 ? shape.width : needed + ((shape.width - needed) & 3);
}

ShiftLayout ShiftLayout::beside(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape, std::int64_t wished_strips,
                                std::int64_t most_rows, bool together) {
    const GemmAxis rows_axis = gemm_rows(spec), columns_axis = gemm_columns(spec);
    const Size2 pooled = pooled_size_unchecked(spec, shape), window = window_size(spec);
    ShiftLayout layout;
    layout.divide(spec, shape, wished_strips);
    layout.tile_rows = ceil_divide(pooled.height, ceil_divide(pooled.height, most_rows));
    layout.tile_spots = layout.tile_rows * layout.pitch - columns_axis.reach();
    layout.tiles =
        ceil_divide(shape.batch, ShiftTile::most_beside) * layout.strips * ceil_divide(pooled.height, layout.tile_rows);

    // Where a tile has fewer places, the tensor cores read on into what follows; those products are not used.
    layout.map_places = (layout.tile_spots + rows_axis.reach() * layout.pitch + columns_axis.reach()) * ShiftTile::most_beside;
    layout.short_places = layout.map_places - (rows_axis.reach() == 0 ? 0 : layout.pitch * ShiftTile::most_beside);
    layout.columns = ceil_divide(layout.tile_rows + rows_axis.reach(), tile.map_rows) * layout.pitch;
    const std::int64_t lines = (layout.tile_rows - 1) * rows_axis.step + window.height;
    layout.runs = ShiftTile::most_beside * (layout.strips == 1 ? 1 : lines);
    // Lanes that read the same pixel of eight images should do so in different banks.
    const std::int64_t plane = shape.height * shape.width;
    const std::int64_t floats = lines * layout.pixel_pitch + 16 + columns_axis.step;
    layout.copies_fours = together;
    if (together) {
        layout.pixel_image_stride = next_in_bank(3 * plane + floats, 4);
        layout.pixel_channel_stride = plane;
        layout.pixel_floats = ShiftTile::most_beside * layout.pixel_image_stride;
        layout.copies = layout.runs;
    } else {
        layout.pixel_image_stride = next_in_bank(floats, 4);
        layout.pixel_channel_stride = ShiftTile::most_beside * layout.pixel_image_stride;
        // Of strips, the pitch is rounded up with the image's width: there is room for any.
        const std::int64_t most_floats =
            layout.strips == 1 ? floats : floats + lines * (strip_pitch(spec, layout.strip_width) + 3 - layout.pixel_pitch);
        layout.pixel_floats = 4 * ShiftTile::most_beside * next_in_bank(most_floats, 4);
        layout.copies = 4 * layout.runs;
    }
    return layout;
}

ShiftLayout::ShiftLayout(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape, std::int64_t strips_,
                         std::int64_t tile_spots_)
    : tile_spots(tile_spots_) {
    const GemmAxis rows_axis = gemm_rows(spec), columns_axis = gemm_columns(spec);
    divide(spec, shape, strips_);
    const std::int64_t all_places = shape.batch * strips * rows * pitch;
    tile_spots = std::min(tile_spots, all_places);
    tiles = ceil_divide(all_places, tile_spots);

    map_places = short_places = tile_spots + rows_axis.reach() * pitch + columns_axis.reach();
    if (tile.beside == 0 && rows_axis.reach() > 0) short_places -= pitch;
    const std::int64_t map_rows = most_touched(map_places, pitch), segments = most_touched(map_rows, rows);
    columns = (map_rows + segments * (tile.map_rows - 1)) / tile.map_rows * pitch;

    const std::int64_t row_lines = last_residue(rows_axis) + spec.stride.height * (spec.pool_kernel_size.height - 1) + 1;
    const std::int64_t lines = map_rows * rows_axis.step + segments * std::max<std::int64_t>(0, row_lines - rows_axis.step);
    runs = strips == 1 ? segments : lines;
    copies = 4 * runs;
    // Eight neighbouring columns of four channels should lie in different banks.
    const std::int64_t slack = 12 + columns_axis.step;
    pixel_channel_stride = next_in_bank(lines * pixel_pitch + slack * segments + 4, columns_axis.step % 2 == 0 ? 16 : 8);
    pixel_floats = 4 * pixel_channel_stride;
    if (strips > 1) pixel_floats += 12 * lines;  // the pitch is rounded up with the image's width
}

bool ShiftLayout::fits(const ShiftTile& tile) const {
    return map_places <= tile.map_places && short_places <= tile.short_places && columns <= tile.columns && runs <= tile.runs &&
           pixel_floats <= tile.pixel_floats;
}

ShiftLayout ShiftLayout::fitting_beside(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape,
                                        std::int64_t most_strips) {
    ShiftLayout best = beside(spec, tile, shape, most_strips, 1, false);  // which `reserve` made room for
    for (std::int64_t strips = 1; strips <= most_strips; ++strips) {
        for (std::int64_t rows = most_tile_rows(spec, tile, shape, strips); rows > 0; --rows) {
            const ShiftLayout apart = beside(spec, tile, shape, strips, rows, false);
            if (apart.tiles > best.tiles) break;
            const ShiftLayout whole = beside(spec, tile, shape, strips, rows, true);
            const bool together = apart.strips == 1 && whole.pixel_floats <= 2 * apart.pixel_floats && whole.fits(tile);
            if (!together && !apart.fits(tile)) continue;
            if (apart.tiles < best.tiles || strips == 1) best = together ? whole : apart;
            break;
        }
        if (best.strips <= strips && best.fits(tile) && strips > 4 * best.strips) break;
    }
    return best;
}

ShiftLayout ShiftLayout::fitting(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape, std::int64_t beside) {
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const std::int64_t most_strips = ceil_divide(pooled.width, least_width);
    if (beside > 1) return fitting_beside(spec, tile, shape, most_strips);
    for (std::int64_t places = tile.places;; places -= least_places) {
        for (std::int64_t strips = 1; strips <= most_strips; ++strips) {
            ShiftLayout layout(spec, tile, shape, strips, places);
            if (layout.fits(tile) || (places <= least_places && strips == most_strips)) return layout;
        }
    }
}

}  // namespace kiln
