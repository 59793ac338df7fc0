// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_stream_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "model/geometry.hpp"

namespace kiln {

namespace {

// An H200: what the arch stands for. Constants without a source fit what was measured on one (docs/kernel-log.md).
constexpr std::int64_t multiprocessors = 132;
constexpr double clock_ghz = 1.75;
constexpr double memory_bytes_per_ns = 4450;
constexpr double launch_us = 0.8;
constexpr double fill_us = 1.6;    // until the first rows are there
constexpr double finish_us = 3.9;  // the last unit, then sums meet and y is written
constexpr double strip_us = 0.5;

/// What a warp does for a unit, in cycles of the unit that does it.
struct WarpWork {
    double issue = 0;    // of its scheduler
    double shared = 0;   // of shared memory
    double tensor = 0;   // of its tensor core
    double special = 0;  // of its scheduler's special functions
};

WarpWork work_of_unit(const ModelSpec& spec, const StreamTile& tile) {
    const auto passes = static_cast<double>(tile.passes(spec));
    const double lane_channels = static_cast<double>(tile.channels) / 4;
    const auto kernel_w = static_cast<double>(spec.kernel_size.width), kernel_h = static_cast<double>(spec.kernel_size.height);
    const auto pool_w = static_cast<double>(spec.pool_kernel_size.width);
    const auto rows = static_cast<double>(tile.unit_rows(spec));
    const auto pair = static_cast<double>(spec.stride.width * spec.pool_kernel_size.width + window_size(spec).width);
    const double vector = 2 * spec.stride.width * spec.pool_kernel_size.width % 4 == 0 ? 4 : 2;
    const double reads = std::ceil(pair / vector);
    const bool shares_w = spec.stride.width == spec.dilation.width;
    const double row_sums = 2 * (shares_w ? pool_w + 2 * kernel_w : pool_w * kernel_w);
    const double column_sums = 2 * kernel_w * std::min(kernel_h, 3.0);
    const double k_steps = static_cast<double>(tile.k_steps(spec)) * passes;
    const double products = spec.math == Math::tf32 ? 1 : 3;
    const auto filter_tiles = static_cast<double>(tile.filter_tiles(spec));
    const auto filters = static_cast<double>(tile.filters);

    WarpWork work;
    work.issue = passes * lane_channels * rows * (reads + row_sums + column_sums) + k_steps * 4 * 3 +
                 filter_tiles * (k_steps * products * 4 + filters / 2 * 6) +
                 passes * rows / static_cast<double>(tile.stage_rows) * 25 + 150;
    work.shared = passes * lane_channels * rows * reads * vector + filter_tiles * k_steps * products * filters * 32 / 128 / 4;
    work.tensor = filter_tiles * k_steps * products * std::max(filters / 2, 16.0);
    work.special = spec.activation == Activation::sigmoid ? filter_tiles * filters / 2 * 2 * 8 : 0;
    return work;
}

/// What a unit costs the producer warp that brings it where threads copy its rows word by word. 124 cycles for a piece of a row
/// that a warp copies at once is what 16→32, kernel 5, pool 3 at 127×131 took on an H200.
double words_us(const ModelSpec& spec, const StreamTile& tile, const StreamLayout& layout, const Shape& shape) {
    if (layout.may_bulk) return 0;
    const std::int64_t word_floats = shape.width % 4 == 0 ? 4 : shape.width % 2 == 0 ? 2 : 1;
    const double pieces = std::ceil(static_cast<double>(layout.pitch) / static_cast<double>(32 * word_floats));
    const auto lines = static_cast<double>(spec.in_channels * tile.unit_rows(spec));
    const auto streams_per_producer = std::max(static_cast<double>(layout.streams) / 4, 0.25);
    return lines * pieces * 124 * streams_per_producer / clock_ghz / 1000;
}

}  // namespace

Candidate stream_cost(const ModelSpec& spec, const StreamTile& tile, const Shape& shape, const Arch& /*arch*/) {
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const StreamLayout layout(spec, tile, shape, multiprocessors);
    const auto runs = static_cast<double>(layout.runs);
    const double rounds = std::ceil(static_cast<double>(layout.units) / runs);
    const auto warps = static_cast<double>(layout.streams * layout.blocks);
    const double schedulers = std::min(4.0, warps);

    const WarpWork work = work_of_unit(spec, tile);
    const double per_scheduler = std::ceil(warps / schedulers);
    // Alone, a warp waits for each of its phases; together, the busiest unit bounds them.
    const double alone = 1.8 * work.issue + work.tensor + work.special;
    const std::array<std::pair<double, const char*>, 5> limits{{
        {per_scheduler * work.issue * 1.3, "fma"},
        {per_scheduler * work.tensor * 1.15, "tensor"},
        {per_scheduler * work.special * 1.1, "latency"},
        {warps * work.shared * 1.1, "shared"},
        {alone, "latency"},
    }};
    const auto* const slowest =
        std::max_element(limits.begin(), limits.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const double waits = tile.passes(spec) == 1 ? 1
                         : layout.strips <= 2   ? 1.2
                                                : 1.9;  // every pass ends with one for the products
    const double compute_us = slowest->first * waits * rounds / clock_ghz / 1000;

    const double unit_bytes =
        4 * static_cast<double>(layout.pitch) * static_cast<double>(spec.in_channels * tile.unit_rows(spec));
    const double fresh_bytes =
        4 * static_cast<double>(layout.pitch) * static_cast<double>(spec.in_channels * tile.kept_rows(spec));
    const double fresh_units = std::max(runs, static_cast<double>(layout.units) / static_cast<double>(pooled.height));
    const double bytes = static_cast<double>(layout.units) * unit_bytes + fresh_units * fresh_bytes;
    // Full rows come at nine tenths of the memory's rate. Strips, whose rows are copied one by one, are slower, narrow ones much.
    const double copies = layout.strips == 1 ? 1.09 : layout.pitch >= 256 ? 1.25 : 2.3;
    const double memory_us = bytes * copies / memory_bytes_per_ns / 1000;
    const double lookahead_us = layout.slots == 1 ? memory_us : layout.slots == 2 ? 0.15 * memory_us : 0;
    const double copy_us = words_us(spec, tile, layout, shape) * rounds;

    Candidate candidate;
    candidate.tile = tile.render();
    candidate.limiter = std::max(memory_us, copy_us) >= compute_us ? "memory" : slowest->second;
    const double tail_us = alone / clock_ghz / 1000;
    candidate.predicted_us = launch_us + fill_us + std::max({memory_us, compute_us, copy_us}) + std::min(tail_us, 3.0) +
                             finish_us + strip_us * static_cast<double>(layout.strips - 1) + lookahead_us;
    return candidate;
}

}  // namespace kiln
