// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_stream_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "model/geometry.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

// An H200: what the arch stands for. Constants here and in StreamTimes were fitted to 199 tiles measured on one
// (docs/kernel-log.md); the root mean square of what is left is 12 %.
constexpr std::int64_t multiprocessors = 132;
constexpr double clock_ghz = 1.75;
constexpr double memory_bytes_per_ns = 4450;
// An empty launch, until the first rows are there; until sums have met and y is written.
constexpr double first_and_last_us = 4.5;
constexpr double meeting_us = 2;           // of which so much where images are shared
constexpr double block_bytes_per_ns = 60;  // what one multiprocessor can ask for

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
    const double promoted = static_cast<double>(tile.chains(spec)) * passes;  // chains whose sums are added to others
    if (promoted > 1) work.issue += filter_tiles * promoted * filters / 2;
    work.shared = passes * lane_channels * rows * reads * vector + filter_tiles * k_steps * products * filters * 32 / 128 / 4;
    work.tensor = filter_tiles * k_steps * products * std::max(filters / 2, 16.0);
    work.special = spec.activation == Activation::sigmoid ? filter_tiles * filters / 2 * 2 * 8 : 0;
    return work;
}

/// Cycles of a producer warp for a channel's rows of a stage, where threads copy them: each takes a piece of 16, 8 or 4 bytes.
double piecewise_copy_cycles(const ModelSpec& spec, const StreamTile& tile, const StreamLayout& layout, const Shape& shape) {
    constexpr double instruction_cycles = 4.6, copy_cycles = 5.7;  // beside the consumers' instructions; of a copy on top
    const std::int64_t piece_floats = shape.width % 4 == 0 ? 4 : shape.width % 2 == 0 ? 2 : 1;
    const std::int64_t row_pieces = ceil_divide(layout.pitch, 32 * piece_floats);
    const auto stage_rows = static_cast<double>(tile.stage_rows), rows = static_cast<double>(tile.rows_at_once(spec));
    const auto pieces = static_cast<double>(tile.pieces_at_once(spec));
    const auto batches = static_cast<double>(ceil_divide(row_pieces, tile.pieces_at_once(spec)));
    const bool pads = spec.padding.height > 0 || spec.padding.width > 0;
    const double of_batch = pieces * (1 + rows * (pads ? 3 : 1)) + 5 + rows * (pads ? 4 : 2);
    const double instructions = 12 + stage_rows / rows * (10 + 3 * rows + batches * of_batch);
    return instruction_cycles * instructions + copy_cycles * stage_rows * static_cast<double>(row_pieces);
}

/// Cycles that the units of one round cost the busiest producer warp: each stage's slot is waited for, then filled by copies of
/// whole rows, or by threads.
double producer_cycles(const ModelSpec& spec, const StreamTile& tile, const StreamLayout& layout, const Shape& shape) {
    constexpr double bulk_copy_cycles = 33;
    const std::int64_t parts = layout.streams == 1 ? 4 : layout.streams == 2 ? 2 : 1;  // warps that share a stream
    const std::int64_t stages = tile.passes(spec) * tile.pass_stages(spec);
    const auto channels = static_cast<double>(ceil_divide(tile.stage_channels(spec), parts));
    const double of_stage =
        layout.may_bulk ? 360 + channels * bulk_copy_cycles * static_cast<double>(layout.rows_together ? 1 : tile.stage_rows)
                        : 170 + channels * piecewise_copy_cycles(spec, tile, layout, shape);
    return static_cast<double>(ceil_divide(layout.streams, 4) * stages) * of_stage;
}

/// What a layout's busiest units take, and what shows beside them.
struct StreamTimes {
    double memory_us = 0, producer_us = 0, compute_us = 0, single_us = 0, ends_us = 0;
    double shown = 0;          ///< of the second slowest
    const char* slowest = "";  ///< of the units that compute

    StreamTimes(const ModelSpec& spec, const StreamTile& tile, const Shape& shape, const WarpWork& work,
                const StreamLayout& layout) {
        const auto runs = static_cast<double>(layout.shared_runs * (layout.own_images > 0 ? layout.grid : 1));
        const auto units = static_cast<double>(layout.units), rounds = static_cast<double>(layout.longest_run());
        const std::int64_t busy_warps = layout.streams * layout.blocks;
        const auto warps = static_cast<double>(busy_warps);
        const double per_scheduler = std::ceil(warps / std::min(4.0, warps));
        const auto passes = static_cast<double>(tile.passes(spec));
        // Alone, a warp waits for each of its phases, and for the turns of warpgroups that have nothing to do; together, the
        // busiest unit bounds them.
        const std::int64_t idle_warpgroups = (tile.warps - busy_warps) / 4;
        const double alone =
            (1.6 * work.issue + work.tensor + 0.9 * work.special) * (1 + 0.33 * static_cast<double>(idle_warpgroups));
        const std::array<std::pair<double, const char*>, 5> limits{{
            {per_scheduler * work.issue * 1.6, "fma"},
            {per_scheduler * work.tensor * (tile.passes(spec) > 1 ? 1.4 : 1.12), "tensor"},  // each pass has to start
            {per_scheduler * work.special * 1.55, "latency"},
            {warps * work.shared, "shared"},
            {alone, "latency"},
        }};
        const auto* const longest =
            std::max_element(limits.begin(), limits.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        slowest = longest->second;
        const double waits = tile.passes(spec) > 1 && layout.strips > 2 ? 2.4 : 1;  // every pass ends with one
        compute_us = longest->first * waits * rounds / clock_ghz / 1000;
        // Where a pass has more stages than the ring has slots, the rest are only asked for while it reads.
        constexpr double memory_latency_us = 0.65;
        const double refills = static_cast<double>(tile.pass_stages(spec)) / static_cast<double>(layout.slots) - 1;
        if (layout.slots > 2) compute_us += rounds * passes * std::max(0.0, refills) * memory_latency_us;
        single_us = std::min(alone / clock_ghz / 1000, 0.6);
        producer_us = producer_cycles(spec, tile, layout, shape) * rounds / clock_ghz / 1000;

        const double row_bytes = 4 * static_cast<double>(std::min(layout.pitch, shape.width) * spec.in_channels);
        const double fresh_units = std::max(runs, static_cast<double>(shape.batch * layout.strips));
        const double bytes = row_bytes * (units * static_cast<double>(tile.unit_rows(spec)) +
                                          fresh_units * static_cast<double>(tile.kept_rows(spec)));
        // Rings without computation: panels, aligned as memory is, come 6 % faster than rows (docs/kernel-log.md).
        const double overhead = tile.has_panels(spec) && layout.may_bulk ? 0.96 : 1.02;
        memory_us =
            bytes * overhead / std::min(memory_bytes_per_ns, block_bytes_per_ns * static_cast<double>(layout.grid)) / 1000;
        // Of three warps a scheduler one has something to do more often.
        const double shown_beside = per_scheduler > 2 ? 0.2 : 0.28;
        shown = layout.slots > 2 ? shown_beside : rounds == 1 ? 0.3 : 0.8;
        ends_us = first_and_last_us - (layout.own_images > 0 ? meeting_us : 0);
    }

    /// The slowest bounds the others, but the second shows; with few slots rows are only asked for when those before are done.
    [[nodiscard]] double whole_us() const {
        std::array<double, 3> all{memory_us, producer_us, compute_us};
        std::sort(all.begin(), all.end());
        return ends_us + all[2] + shown * all[1] + single_us;
    }
};

}  // namespace

StreamLayout stream_layout(const ModelSpec& spec, const StreamTile& tile, const Shape& shape, std::int64_t multiprocessors) {
    StreamLayout best(spec, tile, shape, multiprocessors);
    const bool has_few_images = shape.batch <= StreamLayout::most_own_images * multiprocessors;
    if (best.blocks == 1 && !has_few_images) return best;
    const StreamLayout own(spec, tile, shape, multiprocessors, best.strips, has_few_images);
    // More rounds than that take longer than any meeting: each is a wait for rows at least.
    const bool may_own_images = has_few_images && own.longest_run() <= best.longest_run() + 8;
    if (best.blocks == 1 && !may_own_images) return best;
    const WarpWork work = work_of_unit(spec, tile);
    double least_us = StreamTimes(spec, tile, shape, work, best).whole_us();
    const auto consider = [&](const StreamLayout& other) {
        const double us = StreamTimes(spec, tile, shape, work, other).whole_us();
        if (us >= least_us) return;
        least_us = us;
        best = other;
    };
    if (best.blocks > 1) consider(StreamLayout(spec, tile, shape, multiprocessors, best.strips + 1));
    if (may_own_images) consider(own);
    return best;
}

Candidate stream_cost(const ModelSpec& spec, const StreamTile& tile, const Shape& shape, const Arch& /*arch*/) {
    const StreamLayout layout = stream_layout(spec, tile, shape, multiprocessors);
    const StreamTimes times(spec, tile, shape, work_of_unit(spec, tile), layout);
    return {.tile = tile.render(),
            .predicted_us = times.whole_us(),
            .limiter = std::max(times.memory_us, times.producer_us) >= times.compute_us ? "memory" : times.slowest};
}

}  // namespace kiln
