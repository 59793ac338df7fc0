// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_gemm_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "model/families/hopper_gemm_tile.hpp"
#include "model/families/hopper_gemm_windows.hpp"
#include "model/geometry.hpp"
#include "model/planner.hpp"
#include "model/rates.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

/// Specs that the kernel was written and checked for; others belong to other families. What it has registers and room for is
/// another matter (`complete`).
bool is_admitted(const ModelSpec& spec) {
    const Size2 window = window_size(spec);
    return spec.kernel_size.height <= 11 && spec.kernel_size.width <= 11 && spec.pool_kernel_size.height <= 12 &&
           spec.pool_kernel_size.width <= 12 && window.height <= 32 && window.width <= 32 && gemm_rows(spec).is_regular() &&
           gemm_columns(spec).is_regular() && reduction_length(spec) >= 32;
}

/// A chunk's batches are unrolled: longer ones take too long to compile.
constexpr std::int64_t longest_chunk = 25;  // k-steps

constexpr std::int64_t most_window_pixels = 128;  // of a chunk, that a thread reads

constexpr std::int64_t most_map_rows = 6;  // of a block whose groups are made in turn

/// Channels of a chunk: fours, or one, whose taps then come in fours: where channels are few or have many taps, or where fours
/// have no room (`is_last_resort`). Two or three were measured to be slow.
std::vector<std::int64_t> chunk_choices(const ModelSpec& spec) {
    const bool are_long = spec.kernel_size.height * spec.kernel_size.width > 2 * longest_chunk;
    std::vector<std::int64_t> choices;
    if (spec.in_channels >= 4 && !are_long) choices.push_back(4);
    if (spec.in_channels > 4 && !are_long) choices.push_back(8);
    choices.push_back(1);
    return choices;
}
bool is_last_resort(const ModelSpec& spec, std::int64_t channels) {
    return channels == 1 && spec.in_channels >= 16;
}

/// What a chunk's map costs the builders, in cycles: their warps take a block's columns by 32.
double map_cycles(const ModelSpec& spec, const GemmTile& tile, const GemmLayout& layout) {
    const GemmColumn column(spec);
    const std::int64_t kinds = gemm_columns(spec).phases() / column.phases;  // of columns, side by side
    const std::int64_t tasks = layout.usual_blocks * ceil_divide(layout.pitch * kinds * tile.channels, 32);
    const std::int64_t rounds = ceil_divide(tasks, tile.builder_warps(spec));
    const std::int64_t loads = column.lines(tile.map_rows) * column.loads;
    const std::int64_t boxes = tile.map_rows * gemm_rows(spec).phases() * column.phases;
    const double task = 151 + 8.2 * static_cast<double>(loads) + 10 * static_cast<double>(boxes);
    const bool clips = spec.padding.height > 0 || spec.padding.width > 0;  // asks for each pixel whether it is there
    return 610 + static_cast<double>(rounds) * task * (clips ? 1.1 : 1);
}

/// Instructions with which a consumer warp makes a chunk's boxes from pixels, splits them and adds up the products.
double window_instructions(const ModelSpec& spec, const GemmTile& tile) {
    const GemmWindows windows(spec);
    const auto sum = [](std::int64_t length) { return length == 1 ? 0.0 : static_cast<double>(length) / 2; };  // neighbours share
    const double lines = static_cast<double>(windows.lines * windows.boxes) * sum(spec.pool_kernel_size.width);
    const double boxes = static_cast<double>(spec.kernel_size.height * windows.boxes) * (sum(spec.pool_kernel_size.height) + 3);
    const double four = static_cast<double>(windows.lines * windows.columns) + lines + boxes;
    return static_cast<double>(tile.channels) / 4 * four + static_cast<double>(3 * tile.chunk_steps(spec)) + 60 +
           static_cast<double>(tile.batches(spec)) * (static_cast<double>(tile.filters) / 2 + 25);
}

/// What a chunk of channels costs one multiprocessor, in cycles, stage by stage. The constants, and those of `launch_cycles`,
/// were fitted to 90 tiles measured on an H200 (docs/kernel-log.md); the root mean square of what is left is 8 %.
struct ChunkCost {
    double tensor, consumers, builders, feeders, weights;
    bool waits_for_pixels;

    ChunkCost(const ModelSpec& spec, const GemmTile& tile, const GemmLayout& layout) : waits_for_pixels(tile.pixel_stages == 1) {
        const double products = spec.math == Math::tf32 ? 1 : 3;
        const auto steps = static_cast<double>(tile.chunk_steps(spec)), batches = static_cast<double>(tile.batches(spec));
        consumers =
            steps * static_cast<double>(tile.filters) / 2 * products;  // of one warpgroup, with the tensor cores to itself
        tensor = consumers * static_cast<double>(tile.warpgroups);
        if (tile.has_maps()) {
            builders = map_cycles(spec, tile, layout);
        } else {  // consumers are their own builders, and wait for each other's instructions
            const double instructions = window_instructions(spec, tile);
            builders = 1.1 * instructions * static_cast<double>(tile.warpgroups);
            consumers += 1.3 * instructions;
        }
        // From L2, with every multiprocessor at it.
        weights = tile.weights_stay(spec) ? 0 : steps * static_cast<double>(tile.step_bytes(spec)) / 36;
        // One warp feeds pixels, one weights.
        feeders = std::max(23 * static_cast<double>(layout.runs * tile.channels), (tile.weights_stay(spec) ? 90 : 210) * batches);
    }

    /// The stages overlap, but they share the multiprocessor: the slowest but one shows too.
    [[nodiscard]] double cycles() const {
        std::array<double, 5> all{tensor, consumers, builders, feeders, weights};
        std::sort(all.begin(), all.end());
        return all[4] + 0.68 * all[3] + (waits_for_pixels ? 4400 : 0);
    }
    /// Until the first chunk has gone through all of them.
    [[nodiscard]] double fill_cycles() const { return 0.49 * (consumers + builders + feeders); }
    [[nodiscard]] std::string limiter() const {
        if (weights > std::max({tensor, consumers, builders, feeders})) return "L2";
        if (tensor >= std::max({consumers, builders, feeders})) return "tensor";
        return builders >= std::max(consumers, feeders) ? "shared" : "latency";
    }
};

/// Clusters at once, or blocks, where these are single. Clusters do not straddle the groups of 16 to 18 multiprocessors that the
/// chip is made of: 16 of 8, or 40 of 3, were measured not to run at once on 132 multiprocessors; 12 and 36 do.
std::int64_t units_at_once(std::int64_t splits, std::int64_t multiprocessors) {
    if (splits == 1) return multiprocessors;
    return std::max<std::int64_t>(1, multiprocessors * 85 / 100 / splits);
}

constexpr double first_and_last_cycles = 9010;

/// What a launch costs one multiprocessor, in cycles.
double launch_cycles(const ModelSpec& spec, const GemmTile& tile, const GemmLayout& layout, const ChunkCost& chunk,
                     std::int64_t places, std::int64_t splits, std::int64_t multiprocessors) {
    const std::int64_t units = ceil_divide(places, layout.places) * tile.filter_tiles(spec);
    const auto waves = static_cast<double>(ceil_divide(units, units_at_once(splits, multiprocessors)));
    const auto chunks = static_cast<double>(ceil_divide(tile.chunks(spec), splits));
    // Clusters come and go: each wave of them fills and drains its pipelines, where other blocks go on with their next unit.
    const double meeting = splits > 1 ? 1550 + 10800 * (waves - 1) : 0;
    return waves * (chunks * chunk.cycles() + 1680) + chunk.fill_cycles() + meeting + first_and_last_cycles;
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

/// Sizes the rings of a tile for a shape, so that its weights stay or pass through a few stages, pixels in two stages if they
/// fit; false if the tile would be cut short.
bool make_room(GemmTile& tile, const ModelSpec& spec, const Shape& shape, const Rates& rates, bool weights_stay) {
    const std::int64_t least_places =
        std::max<std::int64_t>(64 * tile.warpgroups - 56, 32) / tile.place_positions();  // some for each warpgroup
    const auto fits = [&](std::int64_t pixel_stages, std::int64_t stages) {
        tile.pixel_stages = pixel_stages;
        tile.stages = stages;
        return tile.reserve(spec, shape, rates.shared_bytes_per_block) >= least_places;
    };
    if (!tile.has_maps()) {  // measured: a third stage of pixels is worth more than weights that stay
        return !weights_stay && (fits(3, 4) || fits(2, 4) || fits(2, 3));
    }
    if (weights_stay) {
        const std::int64_t resident = resident_stages(tile, spec);
        return resident > 4 && resident <= 12 && fits(2, resident);
    }
    if (tile.warpgroups > 2) return false;  // measured: only pays where the weights stay
    for (const std::int64_t pixel_stages : {2, 1}) {
        for (const std::int64_t stages : {4, 3, 2}) {
            if (fits(pixel_stages, stages)) return true;
        }
    }
    return false;
}

/// Where row groups are made in turn: as many in a block as keep the builders busy for the shortest time.
void choose_map_rows(GemmTile& tile, const ModelSpec& spec, const Shape& shape, const Rates& rates) {
    if (!tile.has_maps() || !GemmColumn(spec).builds_in_turn()) return;
    tile.map_rows = most_map_rows;
    std::int64_t best = tile.map_rows;
    double least = 0;
    for (; tile.map_rows > 0; --tile.map_rows) {
        const GemmLayout layout = gemm_launch(spec, tile, shape, rates.multiprocessors).layout;
        if (!layout.is_listable(tile)) break;
        const double cycles = map_cycles(spec, tile, layout);
        if (least > 0 && cycles >= least) continue;
        least = cycles;
        best = tile.map_rows;
    }
    tile.map_rows = best;
}

/// The same for a tile without maps: as long batches as registers allow.
bool complete_without_maps(GemmTile& tile, const ModelSpec& spec, const Shape& shape, const Rates& rates) {
    const GemmWindows windows(spec);
    // Where it was measured to pay (docs/kernel-log.md): more filters make each pixel's share of the builders' work smaller.
    if (spec.padding.height > 0 || spec.padding.width > 0 || spec.out_channels > 32) return false;
    if (tile.channels / 4 * windows.lines * windows.columns > most_window_pixels) return false;
    if (tile.chunk_steps(spec) > longest_chunk) return false;
    for (tile.steps = 5; tile.steps >= 3; --tile.steps) {
        if (windows.registers(spec, tile) <= tile.consumer_registers(spec)) return make_room(tile, spec, shape, rates, false);
    }
    return false;
}

/// Fills in the sizes that follow from the others; false if there is no room for them.
bool complete(GemmTile& tile, const ModelSpec& spec, const Shape& shape, const Rates& rates, bool weights_stay) {
    if (tile.chunk_steps(spec) > longest_chunk) return false;
    // With fewer filters three warpgroups of consumers leave builders more registers than all start with; shares of 64 filters
    // spilled, and so did builders of wide boxes.
    if (tile.warpgroups > 2) {
        if (tile.filters < 40 || tile.filters > 64 || spec.pool_kernel_size.width > 2) return false;
    }
    // The smaller the tile, the less of the wish is for comfort: with three warpgroups nothing spilled 20 registers below.
    if (tile.consumer_registers(spec) < tile.wished_registers(spec) - (tile.warpgroups > 2 ? 20 : 8)) return false;
    const bool builds_in_turn = GemmColumn(spec).builds_in_turn();
    tile.map_rows = builds_in_turn ? most_map_rows : std::clamp<std::int64_t>(6 / gemm_rows(spec).step, 1, 4);
    while (!builds_in_turn && tile.map_rows > 1 && tile.needed_builder_registers(spec) > tile.builder_registers(spec)) {
        --tile.map_rows;
    }
    if (tile.needed_builder_registers(spec) > tile.builder_registers(spec)) return false;
    return make_room(tile, spec, shape, rates, weights_stay);
}

constexpr std::array<std::int64_t, 5> split_choices{1, 2, 3, 4, 8};

/// A tile's candidates: for a shape that is told one for each number of splits, else one that chooses at launch.
void add_split(std::vector<Candidate>& candidates, GemmTile tile, const ModelSpec& spec, const Shape& shape, const Rates& rates) {
    const bool may_split = tile.has_maps() && tile.warpgroups < 3 && tile.chunks(spec) > 1 && tile.can_split();
    if (!spec.expected) {
        tile.fill(spec, rates.shared_bytes_per_block);
        tile.splits = may_split ? 0 : 1;
        // Units' division among many tiles of filters takes a register more than there is: among three, and by NVRTC 13.5 four.
        if (tile.splits == 0 && tile.warpgroups == 2 && tile.filters == 128 && tile.filter_tiles(spec) >= 3) return;
        choose_map_rows(tile, spec, shape, rates);
        candidates.push_back(gemm_cost(spec, tile, shape));
        return;
    }
    for (const std::int64_t splits : split_choices) {
        if (splits > 1 && (!may_split || splits > tile.chunks(spec))) break;
        tile.splits = splits;
        choose_map_rows(tile, spec, shape, rates);
        candidates.push_back(gemm_cost(spec, tile, shape));
    }
}

}  // namespace

bool gemm_serves(const ModelSpec& spec) {
    return spec.kernel_size.height <= 7 && spec.kernel_size.width <= 7 && spec.pool_kernel_size.height <= 4 &&
           spec.pool_kernel_size.width <= 4 && reduction_length(spec) >= 64 && is_admitted(spec);
}

GemmLaunch gemm_launch(const ModelSpec& spec, const GemmTile& tile, const Shape& shape, std::int64_t multiprocessors) {
    GemmLaunch launch{.splits = tile.splits, .layout = GemmLayout::largest(spec, tile, shape)};
    if (tile.splits == 0) {
        const ChunkCost chunk(spec, tile, launch.layout);
        const std::int64_t places = tile.all_places(spec, shape);
        double least = 0;
        for (const std::int64_t splits : split_choices) {
            if (splits > tile.chunks(spec)) break;
            const double cycles = launch_cycles(spec, tile, launch.layout, chunk, places, splits, multiprocessors);
            if (splits > 1 && cycles >= least) continue;
            least = cycles;
            launch.splits = splits;
        }
    }
    launch.layout = launch.layout.shrunk(spec, tile, shape, units_at_once(launch.splits, multiprocessors));
    return launch;
}

Candidate gemm_cost(const ModelSpec& spec, const GemmTile& tile, const Shape& shape) {
    const Rates& rates = rates_of(Arch::sm_90a);
    const GemmLaunch launch = gemm_launch(spec, tile, shape, rates.multiprocessors);
    const ChunkCost chunk(spec, tile, launch.layout);
    const double cycles =
        launch_cycles(spec, tile, launch.layout, chunk, tile.all_places(spec, shape), launch.splits, rates.multiprocessors);
    const double compute_us = cycles / (1000 * rates.clock_ghz);
    const double bytes = 4 * static_cast<double>(shape.batch * spec.in_channels * shape.height * shape.width);
    const double memory_us = bytes / (1000 * rates.memory_gb_s) + first_and_last_cycles / (1000 * rates.clock_ghz);
    // Where both take about as long, neither hides the other wholly.
    const double us = std::cbrt(compute_us * compute_us * compute_us + memory_us * memory_us * memory_us);
    return {.tile = tile.render(spec), .predicted_us = us, .limiter = memory_us > compute_us ? "memory" : chunk.limiter()};
}

std::vector<Candidate> gemm_candidates(const ModelSpec& spec) {
    std::vector<Candidate> candidates;
    if (!is_admitted(spec)) return candidates;
    const Rates& rates = rates_of(Arch::sm_90a);
    const Shape shape = tuning_shape(spec);
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    if (pooled.height < 1 || pooled.width < 1) return candidates;

    GemmTile tile;
    tile.map_rows = 1;  // `complete` sets it
    for (const std::int64_t filters : filter_choices(spec)) {
        tile.filters = filters;
        for (const std::int64_t warpgroups : {1, 2, 3}) {
            tile.warpgroups = warpgroups;
            tile.steps = filters > 64 || warpgroups > 2 ? 3 : 5;  // as many as registers hold beside two sets of accumulators
            for (const std::int64_t builders : {2, 3}) {
                tile.builders = builders;
                for (const std::int64_t channels : chunk_choices(spec)) {
                    if (is_last_resort(spec, channels) && !candidates.empty()) continue;
                    tile.channels = channels;
                    for (const bool weights_stay : {true, false}) {
                        tile.splits = 1;
                        if (complete(tile, spec, shape, rates, weights_stay)) add_split(candidates, tile, spec, shape, rates);
                    }
                }
            }
            tile.builders = 1;
            tile.map_rows = 0;
            tile.splits = 1;
            for (const std::int64_t channels : {4, 8}) {
                tile.channels = channels;
                if (warpgroups == 1 || channels > spec.in_channels) continue;
                if (complete_without_maps(tile, spec, shape, rates)) add_split(candidates, tile, spec, shape, rates);
            }
            tile.map_rows = 1;  // `complete` sets it
        }
    }
    return candidates;
}

}  // namespace kiln
