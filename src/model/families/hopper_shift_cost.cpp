// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_shift_cost.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "model/families/hopper_gemm_cost.hpp"
#include "model/families/hopper_gemm_tile.hpp"
#include "model/families/hopper_shift_tile.hpp"
#include "model/geometry.hpp"
#include "model/planner.hpp"
#include "model/rates.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

/// A chunk's batches are unrolled: longer ones take too long to compile.
constexpr std::int64_t most_chunk_steps = 13;  // k-steps

/// Whether sums that `splits` blocks share meet the contract, |error| ≤ u·(2|bias| + (44 + Ph + Pw + ⌈K/32⌉)·S), with corrections
/// in bf16, whatever the data. All terms are in units of u·S; docs/numerics.md derives them.
bool meets_contract_in_bf16(const ModelSpec& spec, const ShiftTile& tile, std::int64_t splits) {
    constexpr std::int64_t corrections = 96, truncation_of_product = 5;
    constexpr std::int64_t boxes = -2;  // they are rounded Ph + Pw - 2 times
    const std::int64_t batches = tile.batches(spec), longest_chain = ceil_divide(tile.chunk_steps(spec), batches);
    const std::int64_t additions = ceil_divide(tile.chunks(spec), splits) * batches + splits - 1;
    return corrections + truncation_of_product * longest_chain + boxes + additions <=
           44 + ceil_divide(reduction_length(spec), 32);
}

/// By how many blocks a unit's channels may be shared; by none where the contract forbids it.
std::vector<std::int64_t> splits_of(const ModelSpec& spec, const ShiftTile& tile) {
    std::vector<std::int64_t> all;
    for (const std::int64_t splits : {1, 2, 4, 6, 8}) {
        if (splits > (tile.beside == 1 ? 1 : tile.chunks(spec))) break;
        if (tile.bf16_corrections == 0 || meets_contract_in_bf16(spec, tile, splits)) all.push_back(splits);
    }
    return all;
}

/// What a chunk of channels costs one multiprocessor, in cycles. The constants were fitted to the runs in docs/kernel-log.md.
struct ShiftChunkCost {
    double tensor, shared, builders;
    bool beside, bf16;
    std::int64_t products;

    ShiftChunkCost(const ModelSpec& spec, const ShiftTile& tile, const ShiftLaunch& launch, const Rates& rates)
        : beside(launch.beside > 1), bf16(tile.bf16_corrections == 1), products(tile.products(spec)) {
        const ShiftLayout& layout = launch.layout;
        const auto steps = static_cast<double>(tile.chunk_steps(spec) * products);
        const auto places = static_cast<double>(tile.places), map_bytes = static_cast<double>(tile.map_bytes(spec));
        tensor = steps * places;  // two warpgroups, half a cycle a place each
        // A product reads 32 bytes of a place and 2 KiB of weights; the map is written once, from pixels that are written and
        // read.
        shared = (steps * 2 * (32 * places + 2048) + static_cast<double>(tile.chunk_steps(spec) * ShiftTile::step_bytes(spec)) +
                  2.5 * map_bytes) /
                 rates.shared_bytes_per_cycle;
        const GemmAxis rows = gemm_rows(spec), columns = gemm_columns(spec);
        const auto rows_at_once = static_cast<double>(tile.map_rows);
        const auto lines = rows_at_once * static_cast<double>(rows.step) + static_cast<double>(spec.kernel_size.height - 1);
        const auto loads = static_cast<double>(columns.step + spec.pool_kernel_size.width - 1);
        const auto boxes = rows_at_once * static_cast<double>(rows.phases() * columns.phases());
        const bool clips = spec.padding.height > 0 || spec.padding.width > 0;  // some threads of a warp, so both ways are gone
        if (beside) {
            // A warp's threads read the same pixel of eight images, and channels those a step apart.
            const double conflicts = columns.step % 4 == 0 ? 4 : columns.step % 2 == 0 ? 2 : 1;
            const double column = (190 + 3 * conflicts * lines * loads + 28 * boxes) * (clips ? 1.6 : 1.0);
            builders = 400 + static_cast<double>(tile.fours) *
                                 (200 + 40 * static_cast<double>(layout.copies) +
                                  static_cast<double>(layout.columns) / static_cast<double>(ShiftTile::builder_warps) * column);
            shared += static_cast<double>(4 * layout.pixel_floats * tile.fours) / rates.shared_bytes_per_cycle;
            return;
        }
        const auto rounds = static_cast<double>(ceil_divide(ceil_divide(layout.columns, 8), ShiftTile::builder_warps));
        const double conflicts = columns.step % 4 == 0 ? 2 : 1;  // of banks: columns of neighbouring threads are a step apart
        builders = 600 + static_cast<double>(tile.fours) *
                             (600 + rounds * (130 + 5 * conflicts * lines * loads + 18 * boxes) * (clips ? 1.6 : 1.0));
        // Of strips, each line is a copy.
        if (layout.strips > 1) builders += static_cast<double>(tile.fours) * 30 * static_cast<double>(layout.copies);
    }

    /// The stages overlap, but they share the multiprocessor: the others show too.
    [[nodiscard]] double cycles() const {
        std::array<double, 3> all{tensor, shared, builders};
        std::sort(all.begin(), all.end());
        const double waits = bf16 ? 1.37 : products == 3 ? 1.25 : 1.08;  // measured: shorter batches, longer waits
        if (beside) return waits * (all[2] + 0.03 * all[0]);
        return all[2] + 0.15 * all[1] + 0.35 * all[0];
    }
    [[nodiscard]] std::string limiter() const {
        if (tensor >= std::max(shared, builders)) return "tensor";
        return shared >= builders ? "shared" : "latency";
    }
};

/// What a launch costs one multiprocessor, in cycles.
double launch_cycles(const ModelSpec& spec, const ShiftTile& tile, const ShiftLaunch& launch, const ShiftChunkCost& chunk,
                     std::int64_t splits, std::int64_t multiprocessors) {
    const std::int64_t units = launch.layout.tiles * ShiftTile::filter_tiles(spec);
    const auto waves = static_cast<double>(ceil_divide(units * splits, multiprocessors));
    const auto chunks = static_cast<double>(ceil_divide(tile.chunks(spec), splits));
    const double meeting = splits > 2 ? 9000 + 500 * static_cast<double>(splits) : splits > 1 ? 6000 : 0;
    return waves * (chunks * chunk.cycles() + meeting) + 6000 * (waves - 1) + (launch.beside > 1 ? 7000 : 10500);
}

Candidate priced(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape, const Rates& rates) {
    const ShiftLaunch launch = shift_launch(spec, tile, shape, rates.multiprocessors);
    const ShiftChunkCost chunk(spec, tile, launch, rates);
    const double cycles = launch_cycles(spec, tile, launch, chunk, launch.splits, rates.multiprocessors);
    return {.tile = tile.render(), .predicted_us = cycles / (1000 * rates.clock_ghz), .limiter = chunk.limiter()};
}

/// As many stages of pixels, and then of weights, as there is room for; false if there are too few.
bool choose_stages(ShiftTile& tile, const ModelSpec& spec, const Rates& rates) {
    for (const std::int64_t pixel_stages : {4, 3, 2}) {
        tile.pixel_stages = pixel_stages;
        // Measured: 8 and two stages of pixels are better than 6 and three, but where corrections come in bf16.
        for (const std::int64_t stages : {12, 10, 8, 6}) {
            if (stages < 8 && tile.bf16_corrections == 0) break;
            tile.stages = stages;
            if (tile.shared_bytes(spec) <= rates.shared_bytes_per_block) return true;
        }
    }
    return false;
}

/// Fills in the sizes that follow from the others; false if there is no room for them.
bool complete(ShiftTile& tile, const ModelSpec& spec, const Shape& shape, const Rates& rates) {
    if (tile.chunk_steps(spec) > most_chunk_steps) return false;
    // The largest tile leaves few registers to the rest: longer chunks spilled, and so did units' division among three tiles of
    // filters, or launches that say how many images are beside each other.
    if (tile.places == 192 && (tile.chunk_steps(spec) > 9 || ShiftTile::filter_tiles(spec) > 2 || tile.beside == 0)) return false;
    // Where there is padding, threads find out for each pixel whether it is there: with more than one row, some boxes spilled.
    tile.map_rows = spec.padding.height > 0 || spec.padding.width > 0 ? 1 : tile.beside == 1 ? 3 : 4;
    while (tile.map_rows > 1 && tile.needed_builder_registers(spec) > tile.builder_registers()) --tile.map_rows;
    if (tile.needed_builder_registers(spec) > tile.builder_registers()) return false;
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    const std::int64_t most_strips = ceil_divide(pooled.width, tile.beside > 1 ? 8 : 16);
    for (std::int64_t strips = 1; strips <= most_strips; ++strips) {
        for (std::int64_t together = tile.beside == 0 ? 8 : 0; together >= 0; --together) {
            if (tile.reserve(spec, shape, strips, together) && choose_stages(tile, spec, rates)) return true;
        }
    }
    return false;
}

/// Adds the tile's candidate with whichever corrections cost less, if there is room for it; where no shape is told, with either.
void add_candidates(std::vector<Candidate>& candidates, ShiftTile tile, const ModelSpec& spec, const Shape& shape,
                    const Rates& rates) {
    std::vector<Candidate> all;
    for (const std::int64_t bf16_corrections : {0, 1}) {
        tile.bf16_corrections = bf16_corrections;
        if (bf16_corrections == 1 && (spec.math == Math::tf32 || splits_of(spec, tile).empty())) continue;
        if (complete(tile, spec, shape, rates)) all.push_back(priced(spec, tile, shape, rates));
    }
    if (all.size() > 1 && tile.beside != 0) all.erase(all.begin() + (all[1].predicted_us < all[0].predicted_us ? 0 : 1));
    candidates.insert(candidates.end(), all.begin(), all.end());
}

}  // namespace

ShiftLaunch shift_launch(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape, std::int64_t multiprocessors) {
    if (tile.beside == 1) return {.layout = ShiftLayout::fitting(spec, tile, shape, 1)};
    std::optional<ShiftLaunch> best;
    double least = 0;
    for (const std::int64_t beside : {std::int64_t{1}, ShiftTile::most_beside}) {
        if (tile.beside > 1 && beside != tile.beside) continue;
        ShiftLaunch launch{.beside = beside, .layout = ShiftLayout::fitting(spec, tile, shape, beside)};
        const ShiftChunkCost chunk(spec, tile, launch, rates_of(Arch::sm_90a));
        for (const std::int64_t splits : splits_of(spec, tile)) {
            const double cycles = launch_cycles(spec, tile, launch, chunk, splits, multiprocessors);
            if (best && cycles >= least) continue;
            least = cycles;
            launch.splits = splits;
            best = launch;
        }
    }
    return *best;
}

Candidate shift_cost(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape) {
    return priced(spec, tile, shape, rates_of(Arch::sm_90a));
}

std::vector<Candidate> shift_candidates(const ModelSpec& spec) {
    std::vector<Candidate> candidates;
    // Below, half of a tile or more would be padding: not measured to pay.
    if (!gemm_serves(spec) || spec.out_channels <= ShiftTile::filters / 2) return candidates;
    const Rates& rates = rates_of(Arch::sm_90a);
    const Shape shape = tuning_shape(spec);
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    if (pooled.height < 1 || pooled.width < 1) return candidates;

    ShiftTile tile;
    tile.steps = spec.math == Math::tf32 ? 5 : 3;  // of one product, or more
    const bool is_told = tuning_shapes(spec).size() == 1;
    for (const std::int64_t beside : {std::int64_t{1}, is_told ? ShiftTile::most_beside : 0}) {
        if (2 * shape.batch <= beside) continue;  // half of each tile or more would be padding
        tile.beside = beside;
        for (const std::int64_t places : {192, 160, 128, 96, 64}) {
            tile.places = places;
            for (const std::int64_t fours : {2, 1}) {
                tile.fours = fours;
                if (fours == 2 && spec.in_channels <= 4) continue;
                if (fours == 1 && spec.kernel_size.height * spec.kernel_size.width == 1) continue;
                add_candidates(candidates, tile, spec, shape, rates);
            }
        }
    }
    return candidates;
}

}  // namespace kiln
