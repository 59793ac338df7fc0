// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_gemm_cost.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "model/families/hopper_gemm_tile.hpp"
#include "model/geometry.hpp"
#include "model/planner.hpp"
#include "model/rates.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

/// A chunk's batches are unrolled: longer ones take too long to compile.
constexpr std::int64_t longest_chunk = 25;  // k-steps

/// Channels of a chunk: fours, or, where they are few, one, whose taps then come in fours. Two or three were measured to be slow.
std::vector<std::int64_t> chunk_choices(const ModelSpec& spec) {
    if (spec.in_channels >= 16) return {4, 8};
    std::vector<std::int64_t> choices{1};
    if (spec.in_channels >= 4) choices.push_back(4);
    if (spec.in_channels > 4) choices.push_back(8);
    return choices;
}

/// What a chunk of channels costs one multiprocessor, in cycles, stage by stage. The constants were fitted to the runs in
/// docs/kernel-log.md.
struct ChunkCost {
    double tensor, consumers, builders, feeder;

    ChunkCost(const ModelSpec& spec, const GemmTile& tile, const GemmLayout& layout) {
        const double products = spec.math == Math::tf32 ? 1 : 3;
        const auto steps = static_cast<double>(tile.chunk_steps(spec)), batches = static_cast<double>(tile.batches(spec));
        const double one_group = steps * static_cast<double>(tile.filters) / 2 * products;
        tensor = one_group * static_cast<double>(tile.warpgroups);
        consumers = one_group + 250 * batches + 25 * steps;
        const GemmAxis rows = gemm_rows(spec), columns = gemm_columns(spec);
        const bool at_once = columns.step % 2 == 1;
        const auto lines =
            static_cast<double>(tile.map_rows * rows.step + window_size(spec).height - spec.kernel_size.height + 1);
        const auto loads =
            static_cast<double>(at_once ? columns.step + spec.pool_kernel_size.width - 1 : spec.pool_kernel_size.width);
        const auto width = static_cast<double>(layout.pitch * (at_once ? 1 : columns.phases()) * tile.channels);
        const auto items = static_cast<double>(layout.blocks) * (width / 32 + 0.5);
        builders = 600 + items / static_cast<double>(4 * tile.builders - 2) * (200 + 8 * lines * loads);
        feeder = 900 + 83 * static_cast<double>(layout.runs * tile.channels) + 600 * batches;
    }

    /// The stages overlap, but they share the multiprocessor: the second slowest shows too.
    [[nodiscard]] double cycles() const {
        std::array<double, 4> all{tensor, consumers, builders, feeder};
        std::sort(all.begin(), all.end());
        return all[3] + 0.4 * all[2];
    }
    [[nodiscard]] std::string limiter() const {
        if (tensor >= std::max({consumers, builders, feeder})) return "tensor";
        return builders >= std::max(consumers, feeder) ? "shared" : "latency";
    }
};

Candidate priced(const ModelSpec& spec, const GemmTile& tile, const Shape& shape, const Rates& rates) {
    const GemmLayout layout = GemmLayout::fitting(spec, tile, shape, rates.multiprocessors);
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const std::int64_t positions = shape.batch * pooled.height * pooled.width;
    const std::int64_t units = ceil_divide(positions, layout.positions) * tile.filter_tiles(spec);
    const std::int64_t at_once = tile.units_at_once(rates.multiprocessors);
    const ChunkCost chunk(spec, tile, layout);
    const auto chunks = static_cast<double>(ceil_divide(tile.chunks(spec), tile.splits));
    const double unit = chunks * chunk.cycles() + 1000;
    // Clusters come and go: each wave of them fills and drains its pipelines, where other blocks go on with their next unit.
    const auto waves = static_cast<double>(ceil_divide(units, at_once));
    const double first = tile.pixel_stages == 1 ? 1500 : 0;  // a chunk's pixels are fetched when the one before is built
    const double cycles = waves * (unit + chunks * first + (tile.splits > 1 ? 16000 : 0)) + 9000;
    return {.tile = tile.render(spec), .predicted_us = cycles / (1000 * rates.clock_ghz), .limiter = chunk.limiter()};
}

/// Filters of a tile: as few tiles as 128, 64 or 32 allow, and in each as many.
std::vector<std::int64_t> filter_choices(const ModelSpec& spec) {
    std::vector<std::int64_t> choices;
    for (const std::int64_t most : {128, 64, 32}) {
        const std::int64_t filters = ceil_divide(ceil_divide(spec.out_channels, ceil_divide(spec.out_channels, most)), 8) * 8;
        if (choices.empty() || choices.back() != filters) choices.push_back(filters);
    }
    return choices;
}

/// Stages in which all of a block's weights stay, so that they are fetched once; 0 where units have different ones.
std::int64_t resident_stages(const GemmTile& tile, const ModelSpec& spec) {
    if (tile.filter_tiles(spec) > 1) return 0;
    return ceil_divide(tile.chunks(spec), tile.splits) * tile.batches(spec);
}

/// Sizes the rings of a tile for a shape, pixels in two stages if they fit; false if the tile would be cut short.
bool make_room(GemmTile& tile, const ModelSpec& spec, const Shape& shape, const Rates& rates) {
    const std::int64_t resident = resident_stages(tile, spec);
    if (resident > 4 && resident <= 12) {
        tile.pixel_stages = 2;
        tile.stages = resident;
        if (tile.reserve(spec, shape, rates.shared_bytes_per_block) == tile.positions()) return true;
    }
    if (tile.warpgroups > 2) return false;  // measured: only pays where the weights stay
    const std::int64_t least_positions = std::max<std::int64_t>(tile.positions() - 56, 32);  // some for each warpgroup
    for (const std::int64_t pixel_stages : {2, 1}) {
        for (const std::int64_t stages : {4, 3, 2}) {
            tile.pixel_stages = pixel_stages;
            tile.stages = stages;
            if (tile.reserve(spec, shape, rates.shared_bytes_per_block) >= least_positions) return true;
        }
    }
    return false;
}

/// Fills in the sizes that follow from the others; false if there is no room for them.
bool complete(GemmTile& tile, const ModelSpec& spec, const Shape& shape, const Rates& rates) {
    if (tile.splits > tile.chunks(spec) || tile.chunk_steps(spec) > longest_chunk) return false;
    // With fewer filters three warpgroups of consumers leave builders more registers than all start with; shares of 64 filters
    // spilled, and so did builders of wide boxes.
    if (tile.warpgroups > 2) {
        if (tile.filters < 40 || tile.filters > 64 || tile.splits > 1 || spec.pool_kernel_size.width > 2) return false;
    }
    // The smaller the tile, the less of the wish is for comfort: with three warpgroups nothing spilled 20 registers below.
    if (tile.consumer_registers(spec) < tile.wished_registers(spec) - (tile.warpgroups > 2 ? 20 : 8)) return false;
    tile.map_rows = std::clamp<std::int64_t>(6 / gemm_rows(spec).step, 1, 4);
    while (tile.map_rows > 1 && tile.needed_builder_registers(spec) > tile.builder_registers(spec)) --tile.map_rows;
    if (tile.needed_builder_registers(spec) > tile.builder_registers(spec)) return false;
    if (!make_room(tile, spec, shape, rates)) return false;
    const std::int64_t exchange = 4 * tile.positions() * tile.filters;  // lies over pixels, maps and stages
    return tile.splits == 1 || 4 * (tile.pixel_stages * tile.pixel_floats + 2 * tile.map_floats) >= exchange;
}

}  // namespace

bool gemm_serves(const ModelSpec& spec) {
    const Size2 window = window_size(spec);
    return spec.kernel_size.height <= 7 && spec.kernel_size.width <= 7 && spec.pool_kernel_size.height <= 4 &&
           spec.pool_kernel_size.width <= 4 && window.height <= 32 && window.width <= 32 && gemm_rows(spec).is_regular() &&
           gemm_columns(spec).is_regular() && reduction_length(spec) >= 64;
}

std::vector<Candidate> gemm_candidates(const ModelSpec& spec) {
    std::vector<Candidate> candidates;
    if (!gemm_serves(spec)) return candidates;
    const Rates& rates = rates_of(Arch::sm_90a);
    const Shape shape = tuning_shape(spec);
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    if (pooled.height < 1 || pooled.width < 1) return candidates;

    GemmTile tile;
    tile.builders = 2;
    for (const std::int64_t filters : filter_choices(spec)) {
        tile.filters = filters;
        for (const std::int64_t warpgroups : {1, 2, 3}) {
            tile.warpgroups = warpgroups;
            tile.steps = filters > 64 || warpgroups > 2 ? 3 : 5;  // as many as registers hold beside two sets of accumulators
            for (const std::int64_t channels : chunk_choices(spec)) {
                tile.channels = channels;
                for (const std::int64_t splits : {1, 2, 3, 4, 8}) {
                    tile.splits = splits;
                    if (complete(tile, spec, shape, rates)) candidates.push_back(priced(spec, tile, shape, rates));
                }
            }
        }
    }
    return candidates;
}

}  // namespace kiln
