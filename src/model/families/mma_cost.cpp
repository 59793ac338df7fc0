// SPDX-License-Identifier: Apache-2.0
#include "model/families/mma_cost.hpp"

#include <algorithm>
#include <cmath>

#include "model/families/tile_cost.hpp"
#include "model/families/tile_geometry.hpp"
#include "model/geometry.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

// Fitted to 65 tiles that an H200 measured for the benchmark shapes (10 to 390 µs): predictions are off by 7 % on average, 25 %
// at most. What the busiest unit reaches of its rate while others wait for it:
constexpr double tensor_share = 0.57, issue_share = 0.66, shared_share = 0.83, special_share = 0.82;
constexpr double waiting_share = 0.75;  // of the latency of a load in DRAM, on average
constexpr double waiting_shown = 0.4;   // of a block's waits, where others are there to fill them
// Where some warps build and the others multiply, fitted to 31 such tiles (off by 8 % on average, 32 % at most): the longer of
// the two hides the shorter but for this.
constexpr double hidden_shown = 0.15;
constexpr double builders_tensor_share = 0.68, builders_issue_share = 0.75, builders_waiting_share = 0.67;

/// Cycles of one multiprocessor's units for one tile of positions by one of filters; and those that a block would take for it
/// with the multiprocessor to itself.
struct MmaCycles {
    double tensor = 0, issue = 0, shared = 0, special = 0;
    double multiplying = 0, building = 0, waiting = 0;
};

MmaCycles mma_cycles(const ModelSpec& spec, const MmaTile& tile, const TileWindows& windows, std::int64_t width,
                     const Rates& rates) {
    const double products = spec.math == Math::tf32 ? 1 : 3;
    const auto warps = static_cast<double>(tile.multiplying_threads()) / 32, chunks = static_cast<double>(tile.chunks(spec));
    const auto k_warps = static_cast<double>(tile.k_warps);
    const double parts = warps / k_warps;  // of the tile
    const auto m = static_cast<double>(tile.position_tiles), n = static_cast<double>(tile.filter_tiles_each);
    const auto steps = static_cast<double>(tile.chunk_steps()), chain_steps = static_cast<double>(tile.chain_steps);
    const double latency = rates.memory_latency_us * 1000 * rates.clock_ghz;
    const double held = 4 * m * n;
    const bool is_sigmoid = spec.activation == Activation::sigmoid;

    // Of a warp, for one k-step: products, loads of both operands, splitting, and a chain's part of the promotion.
    const double step_products = m * n * products;
    const double loads = n + m;
    const double splitting = m * 4 * (products > 1 ? 3 : 2) + (tile.splits_weights(spec) ? n * 2 * 3 : 0);
    const double promotion = tile.chain_steps > longest_held_chain ? 0 : held / chain_steps;
    const double step_issue = step_products + loads + splitting + promotion + 2;
    const double step_shared = 4 * m + n * static_cast<double>(tile.lane_weights(spec));
    const double product_cycles = 1024.0 / (rates.tf32_per_cycle / 4.0);  // of one scheduler's tensor core
    const double epilogue = held * (is_sigmoid ? 6 : 3) + 400;
    const double special = is_sigmoid ? 2 * held : 0;

    const WindowCost window = window_cost(spec, windows, width);
    const std::int64_t windows_at_once = loaded_at_once(windows, width, tile.windows_at_once);
    const double warp_windows = static_cast<double>(tile.chunk_channels * tile.positions * tile.window_lanes) / 32;
    const double weight_copies = tile.weights_stay(spec) ? 0 : static_cast<double>(tile.chunk_floats(spec)) / 128;
    const auto builders = static_cast<double>(tile.building_threads()) / 32;
    const double build = warp_windows * window.instructions + 4 * weight_copies + builders * 60;

    MmaCycles cycles;
    cycles.tensor = parts * chunks * steps * step_products * product_cycles / 4;
    const double exchange = (k_warps - 1) * (2 * held + 20) + std::log2(k_warps) * 40;  // of the sums of warps that divide k
    cycles.issue = (parts * (chunks * steps * step_issue + epilogue + exchange) + warps * chunks * 40 + chunks * build) /
                   rates.issue_per_cycle;
    cycles.shared = (chunks * (parts * steps * step_shared + warp_windows * window.shared + 8 * weight_copies) +
                     parts * 2 * (k_warps - 1) * held) *
                    128 / rates.shared_bytes_per_cycle;
    cycles.special = parts * special * 32 / rates.special_per_cycle;

    // Warps of the busiest scheduler: of all, and of those that have sums in the end.
    const double at_once = std::min(4.0, warps), deep = std::ceil(warps / at_once), deep_parts = std::ceil(parts / 4);
    const double chain = 0.8 * chain_steps * step_products * product_cycles * deep;
    const double chain_latency = 240 + 11.5 * chain_steps * products;           // loads, splits, and dependent products
    const double chains = std::ceil(std::ceil(steps / chain_steps) / k_warps);  // of a warp, in a chunk
    cycles.multiplying = chunks * (chains * (chain + chain_latency) + 60) + deep_parts * (epilogue + 4 * special) +
                         std::log2(k_warps) * (4 * held * deep + 100);
    cycles.building = 2 * chunks * (build / at_once + 60) + 400;
    const double waits = tile.window_lanes > 1
                             ? std::ceil(warp_windows / builders) * 2
                             : std::ceil(static_cast<double>(tile.windows_each()) / static_cast<double>(windows_at_once));
    cycles.waiting = chunks * waits * latency * waiting_share;
    if (tile.builder_warps > 0) {
        // What is between products is hidden only in part; a chunk begins and ends with operands on their way, a tile with sums
        // and barriers.
        const double dependent = tile.position_tiles == 1 ? 1.2 : 1;  // products of a chain follow each other closely
        const double step = (step_products * product_cycles * 1.05 + 0.4 * (step_issue - step_products)) * dependent;
        const double steps_each = std::ceil(steps / k_warps), chains_each = std::ceil(steps_each / chain_steps);
        const double chain_wait = warps <= 4 ? 50 : 0;  // nobody else fills it
        cycles.multiplying = chunks * (350 + steps_each * std::ceil(warps / 4) * step + chains_each * chain_wait) + 1300 +
                             std::ceil(parts / 4) * special * 4 + std::log2(k_warps) * (4 * held * deep + 100);
        cycles.building = chunks * ((waits + 1) * latency * builders_waiting_share + 1.6 * build / builders);
    }
    return cycles;
}

/// Bytes of x that some window uses.
double input_bytes_of(const ModelSpec& spec, const Shape& shape, const Size2& pooled) {
    const double used_h = std::min(
        static_cast<double>(shape.height),
        static_cast<double>((pooled.height - 1) * spec.stride.height * spec.pool_kernel_size.height + window_size(spec).height));
    return 4.0 * static_cast<double>(shape.batch * spec.in_channels * shape.width) * used_h;
}

}  // namespace

std::int64_t mma_registers(const ModelSpec& spec, const MmaTile& tile, const TileWindows& windows) {
    // Calibrated so that ptxas spills in no tile that is given just so many: of random tiles of random specs, on every arch.
    const std::int64_t totals = 4 * tile.position_tiles * tile.filter_tiles_each;
    const std::int64_t parts = spec.math == Math::tf32 ? 1 : 2;
    const std::int64_t fragments = 4 * parts * tile.position_tiles * tile.chain_steps;
    // Chains under way at a time, with their weights; the longer and the more they are, the further ahead weights are loaded.
    const std::int64_t at_once = std::min<std::int64_t>(tile.filter_tiles_each, 3);
    const std::int64_t chains = at_once * (4 * tile.position_tiles + 2 * parts * tile.chain_steps);
    const std::int64_t each_step = tile.filter_tiles_each < 4 ? 4 : tile.filter_tiles_each < 8 ? 8 : 16;
    const std::int64_t ahead = each_step * (tile.chain_steps - 1) + (tile.filter_tiles_each < 8 ? 0 : 24);
    const bool is_slim = tile.builder_warps > 0 && tile.position_tiles == 1 && tile.filter_tiles_each == 4;
    const std::int64_t spare = is_slim && tile.chain_steps == 3 ? 8 : 0;  // found in all of 60
    // A longer chain is all of k: sums of small products and of large ones, and operands of one step.
    const std::int64_t one_chain = parts * totals + (4 * parts + 4) * tile.position_tiles + (tile.position_tiles == 1 ? 44 : 36);
    const std::int64_t multiplying =
        tile.chain_steps > longest_held_chain ? one_chain : totals + fragments + chains + ahead + 32 - spare;
    const std::int64_t kept = tile.builder_warps == 0 && tile.chunks(spec) > 1 ? totals + 8 : 0;  // while the next chunk is built
    return std::max<std::int64_t>({multiplying, kept + building_registers(spec, windows, tile.windows_at_once) + 6, 56});
}

MmaCost mma_cost(const ModelSpec& spec, const MmaTile& tile, const TileWindows& windows, const Shape& shape, const Rates& rates) {
    const MmaCycles cycles = mma_cycles(spec, tile, windows, shape.width, rates);
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const std::int64_t all_positions = shape.batch * std::max<std::int64_t>(1, pooled.height * pooled.width);
    const std::int64_t filter_tiles = tile.filter_tiles(spec);
    const TileWork work(all_positions, tile.positions, filter_tiles, rates.multiprocessors * tile.blocks);
    const std::int64_t rounds = ceil_divide(work.tiles, work.runs) * ceil_divide(filter_tiles, work.splits);
    const auto resident = static_cast<double>(std::min(tile.blocks, ceil_divide(work.runs * work.splits, rates.multiprocessors)));

    const bool builds_apart = tile.builder_warps > 0;
    const double tensor = cycles.tensor / (builds_apart ? builders_tensor_share : tensor_share);
    const double issue = cycles.issue / (builds_apart ? builders_issue_share : issue_share);
    const double shared = cycles.shared / shared_share, special = cycles.special / special_share;
    const double busy = std::max({tensor, issue, shared, special});
    const double shorter = std::min(cycles.multiplying, cycles.building), longer = std::max(cycles.multiplying, cycles.building);
    const double alone = builds_apart ? longer + hidden_shown * shorter : cycles.multiplying + cycles.building + cycles.waiting;
    const double others = builds_apart ? hidden_shown * shorter : waiting_shown * cycles.waiting;
    const double per_round = std::max(busy * resident + others, alone);
    const double weight_floats = tile.weights_stay(spec) ? static_cast<double>(tile.chunks(spec) * tile.chunk_floats(spec)) : 0;
    // The first chunk is built before any is multiplied.
    const double first_chunk = builds_apart ? shorter / static_cast<double>(tile.chunks(spec)) : 0;
    const double start = weight_floats / 32 + 2200 + first_chunk;
    const double slowdown = l1_slowdown(tile.blocks, tile.shared_bytes(spec), rates);
    const double compute_us = (static_cast<double>(rounds) * per_round * slowdown + start) / (rates.clock_ghz * 1000);

    const double input_bytes = input_bytes_of(spec, shape, pooled);
    const double weight_bytes = 4.0 * static_cast<double>(filter_tiles * tile.chunks(spec) * tile.chunk_floats(spec));
    const double memory_us = (input_bytes + weight_bytes) / (rates.memory_gb_s * 1000) / 0.9;
    // Every tile of filters reads the windows again, and every tile of positions the weights.
    const double l2_us = (input_bytes * static_cast<double>(filter_tiles) +
                          weight_bytes * static_cast<double>(tile.weights_stay(spec) ? work.runs : work.tiles)) /
                         (rates.l2_gb_s * 1000);

    MmaCost cost;
    const double longest = std::max({compute_us, memory_us, l2_us});
    // Units that are nearly as busy get in each other's way. The first windows and the last sums take their time.
    constexpr double first_and_last_us = 4;
    // The least of many predictions is too low: tiles so chosen for the benchmark shapes took 6 % longer on average.
    constexpr double chosen_share = 1.06;
    cost.predicted_us = chosen_share * (longest + 0.1 * (compute_us + memory_us + l2_us - longest) + rates.launch_us +
                                        2 * rates.memory_latency_us + first_and_last_us);
    if (std::max(memory_us, l2_us) > compute_us) {
        cost.limiter = "memory";
    } else if (busy * resident + others < alone || cycles.waiting > busy * resident) {
        cost.limiter = "latency";
    } else if (tensor > std::max({shared, issue, special})) {
        cost.limiter = "tensor";
    } else {
        cost.limiter = shared > std::max(issue, special) ? "shared" : "issue";
    }
    return cost;
}

}  // namespace kiln
