// SPDX-License-Identifier: Apache-2.0
#include "model/families/simt_cost.hpp"

#include <algorithm>
#include <numeric>

#include "model/geometry.hpp"

namespace kiln {

namespace {

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// Cycles of one multiprocessor's units for one tile of positions and one tile of filters, and the cycles that a block would take
/// for it alone.
struct TileCycles {
    double fma = 0, issue = 0, shared = 0, special = 0, alone = 0;
};

/// Cycles of shared memory for one 16-byte load of a warp whose lanes read `distinct` different vectors.
double load_cycles(double distinct) {
    return std::max(distinct / 8, 1.0);
}

TileCycles tile_cycles(const ModelSpec& spec, const SimtTile& tile, const SimtWindows& windows, const Rates& rates) {
    const auto warps = static_cast<double>(tile.threads()) / 32;
    const auto held = static_cast<double>(tile.thread_positions * tile.thread_filters);
    const auto filters = static_cast<double>(tile.thread_filters);
    const auto chunks = static_cast<double>(tile.chunks(spec));
    const auto steps = chunks * static_cast<double>(tile.chunk_k());
    const double vector = tile.thread_filters % 4 == 0 ? 4 : tile.thread_filters % 2 == 0 ? 2 : 1;
    const double box_vector = tile.thread_positions % 4 == 0 ? 4 : static_cast<double>(tile.thread_positions);
    const double box_loads = static_cast<double>(tile.thread_positions) / box_vector, weight_loads = filters / vector;
    const auto position_lanes = 32 / static_cast<double>(tile.filter_lanes);

    // Box sums: once a tile of positions where one chunk is all, else again for every tile of filters.
    const double rebuilds = tile.chunks(spec) == 1 ? 1 / static_cast<double>(tile.filter_tiles(spec)) : 1;
    const double windows_per_chunk = static_cast<double>(tile.chunk_channels * tile.positions);
    const double warp_windows = windows_per_chunk * chunks * rebuilds * static_cast<double>(tile.window_lanes) / 32;
    const std::int64_t pitch = spec.stride.width * spec.pool_kernel_size.width;
    const double load_width = tile.window_lanes > 1 || pitch % 2 != 0 ? 1 : pitch % 4 == 0 ? 4 : 2;
    const double loads = windows.loads / load_width * (load_width > 1 ? 1.3 : 1);  // vectors that are partly used
    const double shuffles = tile.window_lanes > 1 ? 10.0 * static_cast<double>(tile.taps()) : 0;
    const double per_window = 3 * loads + windows.additions + static_cast<double>(tile.taps()) + shuffles + 20;
    const double lines_per_load = tile.window_lanes > 1 ? 2 : std::min(32.0, std::max(1.0, static_cast<double>(pitch)));

    TileCycles cycles;
    const double weights_copied = tile.weights_stay(spec) ? 0 : steps * static_cast<double>(tile.filters) / 128;  // warp vectors
    const double epilogue = warps * held * (spec.activation == Activation::sigmoid ? 6 : 3) + warps * 200;
    const double product = warps * steps * (held + box_loads + weight_loads + 1);
    cycles.fma = warps * steps * held * 32 / rates.fma_per_cycle;
    cycles.issue =
        (product + warp_windows * per_window + epilogue + warps * held * steps / 36 + 3 * weights_copied) / rates.issue_per_cycle;
    cycles.shared = (warps * steps *
                         (box_loads * load_cycles(position_lanes * box_vector / 4) +
                          weight_loads * load_cycles(static_cast<double>(tile.filter_lanes) * vector / 4)) +
                     warp_windows * (loads * lines_per_load + static_cast<double>(tile.taps())) + 8 * weights_copied) *
                    128 / rates.shared_bytes_per_cycle;
    if (spec.activation == Activation::sigmoid) cycles.special = warps * held * 2 * 32 / rates.special_per_cycle;

    // Alone, a block waits for memory once for each window that a thread sums, and again for each chunk's weights.
    const double waits =
        chunks * rebuilds *
            std::ceil(windows_per_chunk * static_cast<double>(tile.window_lanes) / static_cast<double>(tile.threads())) +
        (tile.weights_stay(spec) ? 0 : chunks);
    const double busy = std::max({cycles.fma, cycles.issue, cycles.shared});
    const double slowdown = std::max(1.0, rates.issue_per_cycle / warps);  // few warps leave schedulers idle
    cycles.alone = busy * slowdown + waits * rates.memory_latency_us * 500 * rates.clock_ghz + 500;
    return cycles;
}

}  // namespace

std::int64_t simt_registers(const ModelSpec& spec, const SimtTile& tile, const SimtWindows& windows) {
    const std::int64_t held = tile.thread_positions * tile.thread_filters;
    const std::int64_t multiplying = 2 * held + tile.thread_positions + tile.thread_filters + 24;
    const std::int64_t summing = (tile.chunks(spec) > 1 ? held : 0) + windows.registers + 40;
    return std::max<std::int64_t>({multiplying, summing, 64});
}

Candidate simt_cost(const ModelSpec& spec, const SimtTile& tile, const SimtWindows& windows, const Shape& shape,
                    const Rates& rates) {
    const TileCycles cycles = tile_cycles(spec, tile, windows, rates);
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const std::int64_t all_positions = shape.batch * std::max<std::int64_t>(1, pooled.height * pooled.width);
    const std::int64_t tiles = ceil_divide(all_positions, tile.positions);
    const std::int64_t filter_tiles = tile.filter_tiles(spec);

    // As SimtFamily::geometry lays the work out.
    const std::int64_t slots = rates.multiprocessors * tile.blocks;
    const std::int64_t runs = std::min(tiles, slots);
    const std::int64_t splits = std::clamp<std::int64_t>(slots / runs, 1, filter_tiles);
    const std::int64_t rounds = ceil_divide(tiles, runs) * ceil_divide(filter_tiles, splits);
    const auto resident = static_cast<double>(std::min(tile.blocks, ceil_divide(runs * splits, rates.multiprocessors)));

    const double busy = std::max({cycles.fma, cycles.issue, cycles.shared, cycles.special}) / 0.9;
    const double per_round = std::max(busy * resident, cycles.alone);
    const double compute_us = static_cast<double>(rounds) * per_round / (rates.clock_ghz * 1000);

    const Size2 window = window_size(spec);
    const double used_h =
        std::min(static_cast<double>(shape.height),
                 static_cast<double>((pooled.height - 1) * spec.stride.height * spec.pool_kernel_size.height + window.height));
    const double input_bytes = 4.0 * static_cast<double>(shape.batch * spec.in_channels * shape.width) * used_h;
    const double weight_bytes = 4.0 * static_cast<double>(reduction_length(spec) * spec.out_channels);
    const double memory_us = (input_bytes + weight_bytes) / (rates.memory_gb_s * 1000) / 0.9;
    // Where one chunk is not all, every tile of filters reads the windows again, and every tile of positions the weights.
    const double reread = tile.chunks(spec) == 1 ? 1 : static_cast<double>(filter_tiles);
    const double l2_us = (input_bytes * reread + weight_bytes * static_cast<double>(tile.weights_stay(spec) ? runs : tiles)) /
                         (rates.l2_gb_s * 1000);

    Candidate candidate;
    candidate.tile = tile.render(spec);
    candidate.predicted_us = std::max({compute_us, memory_us, l2_us}) + rates.launch_us + 2 * rates.memory_latency_us;
    if (std::max(memory_us, l2_us) > compute_us) {
        candidate.limiter = "memory";
    } else if (busy * resident < cycles.alone) {
        candidate.limiter = "latency";
    } else if (cycles.shared > std::max(cycles.fma, cycles.issue)) {
        candidate.limiter = "shared";
    } else {
        candidate.limiter = cycles.fma > 0.7 * cycles.issue ? "fma" : "issue";
    }
    return candidate;
}

}  // namespace kiln
