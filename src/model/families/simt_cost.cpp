// SPDX-License-Identifier: Apache-2.0
#include "model/families/simt_cost.hpp"

#include <algorithm>
#include <cmath>

#include "model/families/tile_cost.hpp"
#include "model/families/tile_geometry.hpp"
#include "model/geometry.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

/// Cycles of one multiprocessor's units for one tile of positions by one of filters; and those that each role of a block would
/// take for it with the multiprocessor to itself.
struct TileCycles {
    double fma = 0, issue = 0, shared = 0, special = 0;
    double multiplying = 0, building = 0, waiting = 0;
};

/// Cycles of shared memory for one load of a warp whose lanes read `distinct` different vectors. 16 bytes a lane take two cycles
/// at least (measured on an H200: 2.19 for 1 to 16 vectors, 4.0 for 32).
double load_cycles(double distinct, double floats) {
    return std::max(distinct * floats / 32, floats > 2 ? 2.2 : 1.1);
}

TileCycles tile_cycles(const ModelSpec& spec, const SimtTile& tile, const TileWindows& windows, std::int64_t width,
                       const Rates& rates) {
    const auto warps = static_cast<double>(tile.threads()) / 32;
    const auto held = static_cast<double>(tile.thread_positions * tile.thread_filters);
    const auto chunks = static_cast<double>(tile.chunks(spec)), chunk_k = static_cast<double>(tile.chunk_k());
    const auto vector_of = [](std::int64_t count) { return count % 4 == 0 ? 4.0 : count % 2 == 0 ? 2.0 : 1.0; };
    const double box_vector = vector_of(tile.thread_positions), weight_vector = vector_of(tile.thread_filters);
    const double box_loads = static_cast<double>(tile.thread_positions) / box_vector;
    const double weight_loads = static_cast<double>(tile.thread_filters) / weight_vector;
    const auto filter_lanes = static_cast<double>(tile.filter_lanes);
    const double latency = rates.memory_latency_us * 1000 * rates.clock_ghz;

    const double step = held + box_loads + weight_loads + 1.5;
    const double step_shared =
        box_loads * load_cycles(32 / filter_lanes, box_vector) + weight_loads * load_cycles(filter_lanes, weight_vector);
    const double epilogue = held * (spec.activation == Activation::sigmoid ? 6 : 3) + 400;
    const double special = spec.activation == Activation::sigmoid ? 2 * held : 0;

    const WindowCost window = window_cost(spec, windows, width);
    const std::int64_t windows_at_once = loaded_at_once(windows, width, tile.windows_at_once);
    const double warp_windows = static_cast<double>(tile.chunk_channels * tile.positions * tile.window_lanes) / 32;
    const double weight_copies = tile.weights_stay(spec) ? 0 : chunk_k * static_cast<double>(tile.filters) / 128;
    const double build = warp_windows * window.instructions + 3 * weight_copies + warps * 60;

    TileCycles cycles;
    cycles.fma = warps * chunks * chunk_k * held * 32 / rates.fma_per_cycle;
    cycles.issue = (warps * (chunks * (chunk_k * step + 2 * held + 20) + epilogue) + chunks * build) / rates.issue_per_cycle;
    cycles.shared = chunks * (warps * chunk_k * step_shared + warp_windows * window.shared + 8 * weight_copies) * 128 /
                    rates.shared_bytes_per_cycle;
    cycles.special = warps * special * 32 / rates.special_per_cycle;

    const double issued_at_once = std::min<double>(rates.issue_per_cycle, warps);
    const double fma_rate = std::min(1.0, static_cast<double>(rates.fma_per_cycle) / (32 * rates.issue_per_cycle));
    cycles.multiplying =
        warps / issued_at_once *
        (chunks * (chunk_k * (held / fma_rate + 30 + box_loads + weight_loads) + 2 * held + 60) + epilogue + 4 * special);
    cycles.building = chunks * (build / issued_at_once + 60) + 200;
    const double waits = tile.window_lanes > 1
                             ? std::ceil(warp_windows / warps) * 2
                             : std::ceil(static_cast<double>(tile.windows_each()) / static_cast<double>(windows_at_once));
    cycles.waiting = chunks * (waits + (tile.weights_stay(spec) ? 0 : 0.5)) * latency;
    return cycles;
}

}  // namespace

std::int64_t simt_registers(const ModelSpec& spec, const SimtTile& tile, const TileWindows& windows) {
    const std::int64_t held = tile.thread_positions * tile.thread_filters;
    const std::int64_t multiplying = 2 * held + tile.thread_positions + tile.thread_filters + 24;
    const std::int64_t totals = tile.chunks(spec) > 1 ? held + 8 : 0;  // kept while the next chunk is built
    const std::int64_t weights = tile.weights_stay(spec) ? 0 : 16;
    const std::int64_t building = building_registers(spec, windows, tile.windows_at_once);
    return std::max<std::int64_t>({multiplying, totals + weights + building, 56});
}

SimtCost simt_cost(const ModelSpec& spec, const SimtTile& tile, const TileWindows& windows, const Shape& shape,
                   const Rates& rates) {
    const TileCycles cycles = tile_cycles(spec, tile, windows, shape.width, rates);
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const std::int64_t all_positions = shape.batch * std::max<std::int64_t>(1, pooled.height * pooled.width);
    const std::int64_t filter_tiles = tile.filter_tiles(spec);
    const auto [tiles, runs, splits] = TileWork(all_positions, tile.positions, filter_tiles, rates.multiprocessors * tile.blocks);
    const std::int64_t rounds = ceil_divide(tiles, runs) * ceil_divide(filter_tiles, splits);
    const auto resident = static_cast<double>(std::min(tile.blocks, ceil_divide(runs * splits, rates.multiprocessors)));

    // Measured on an H200 with three blocks of four warps: 82 % of what the busiest unit could do, and 0.7 of a block's waits
    // show.
    const double busy = std::max({cycles.fma, cycles.issue, cycles.shared, cycles.special}) / 0.82;
    const double alone = cycles.multiplying + cycles.building + cycles.waiting;
    const double per_round = std::max(busy * resident + 0.7 * cycles.waiting, alone);
    const double weight_floats =
        tile.weights_stay(spec) ? static_cast<double>(tile.chunks(spec) * tile.chunk_k() * tile.filters) : 0;
    const double start = std::ceil(weight_floats / static_cast<double>(32 * tile.threads())) * 700 + 1500;
    const double slowdown = l1_slowdown(tile.blocks, tile.shared_bytes(spec), rates);
    const double compute_us = (static_cast<double>(rounds) * per_round * slowdown + start) / (rates.clock_ghz * 1000);

    const Size2 window = window_size(spec);
    const double used_h =
        std::min(static_cast<double>(shape.height),
                 static_cast<double>((pooled.height - 1) * spec.stride.height * spec.pool_kernel_size.height + window.height));
    const double input_bytes = 4.0 * static_cast<double>(shape.batch * spec.in_channels * shape.width) * used_h;
    const double weight_bytes = 4.0 * static_cast<double>(reduction_length(spec) * spec.out_channels);
    const double memory_us = (input_bytes + weight_bytes) / (rates.memory_gb_s * 1000) / 0.9;
    // Every tile of filters reads the windows again, and every tile of positions the weights.
    const double l2_us = (input_bytes * static_cast<double>(filter_tiles) +
                          weight_bytes * static_cast<double>(tile.weights_stay(spec) ? runs : tiles)) /
                         (rates.l2_gb_s * 1000);

    // Runs that share an image queue at its counter, and the last adds up what they left: measured at 4 images of 1024×1024 in
    // 528, 1056 and 2112 runs.
    const double sharing = static_cast<double>(runs * splits) / static_cast<double>(shape.batch);
    const double meeting_us = 0.0085 * std::max(0.0, sharing - 1);

    SimtCost cost;
    const double longest = std::max({compute_us, memory_us, l2_us});
    // Units that are nearly as busy get in each other's way; in the one round of a small shape they hardly overlap.
    const double shown = rounds == 1 ? 0.3 : 0.1;
    // Small shapes took 2 to 5 µs more than that on an H200: until the first windows arrive, and when sums meet.
    constexpr double first_and_last_us = 3;
    cost.predicted_us = longest + shown * (compute_us + memory_us + l2_us - longest) + rates.launch_us +
                        2 * rates.memory_latency_us + first_and_last_us + meeting_us;
    if (std::max(memory_us, l2_us) > compute_us) {
        cost.limiter = "memory";
    } else if (busy * resident + 0.7 * cycles.waiting < alone || cycles.waiting > busy * resident) {
        cost.limiter = "latency";
    } else if (cycles.shared > std::max({cycles.fma, cycles.issue, cycles.special})) {
        cost.limiter = "shared";
    } else {
        cost.limiter = cycles.fma > 0.7 * cycles.issue ? "fma" : "issue";
    }
    return cost;
}

}  // namespace kiln
