// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_stream_family.hpp"

#include <algorithm>
#include <cstring>

#include "model/families/hopper_stream_cost.hpp"
#include "model/families/hopper_stream_tile.hpp"
#include "model/families/tf32.hpp"
#include "model/geometry.hpp"
#include "model/planner.hpp"

namespace kiln {

namespace {

/// Reads and additions of a unit and pass, all of them unrolled: about a millisecond of compiling each.
constexpr std::int64_t most_unrolled_values = 1600;

std::int64_t unrolled_values(const ModelSpec& spec, const StreamTile& tile) {
    const Size2 window = window_size(spec);
    const std::int64_t pair = spec.stride.width * spec.pool_kernel_size.width + window.width;
    return tile.channels / 4 * window.height * (2 * pair + 2 * spec.kernel_size.width * spec.kernel_size.height);
}

/// Why not: promotion across tiles of filters, registers, ring, time to compile.
bool is_legal(const ModelSpec& spec, const StreamTile& tile) {
    if (tile.passes(spec) > 1 && tile.filter_tiles(spec) > 1) return false;
    return tile.registers(spec) <= tile.consumer_registers() && tile.fits(spec) &&
           unrolled_values(spec, tile) <= most_unrolled_values;
}

/// Of tiles that differ in nothing else: whether rows are kept, warps, stages.
std::vector<StreamTile> legal_tiles(const ModelSpec& spec, StreamTile tile) {
    std::vector<StreamTile> tiles;
    // Kept rows are worth their registers (179 µs without, 161 with, at the headline shape), but only one pass has them.
    for (const std::int64_t keeps_rows : {1, 0}) {
        tile.keeps_rows = keeps_rows;
        if (keeps_rows == 1 && (tile.passes(spec) > 1 || tile.kept_rows(spec) == 0)) continue;
        if (keeps_rows == 0 && !tiles.empty()) break;
        for (const std::int64_t warps : {4, 8, 12}) {
            tile.warps = warps;
            std::int64_t last_rows = 0;
            for (const std::int64_t most_rows : {1, 2, 4, 64}) {
                tile.stage_rows = std::min(most_rows, tile.unit_rows(spec));
                while (tile.unit_rows(spec) % tile.stage_rows != 0) --tile.stage_rows;
                if (tile.stage_rows == last_rows) continue;
                last_rows = tile.stage_rows;
                if (is_legal(spec, tile)) tiles.push_back(tile);
            }
        }
    }
    return tiles;
}

}  // namespace

std::vector<Candidate> HopperStreamFamily::candidates(const ModelSpec& spec, const Arch& arch) const {
    std::vector<Candidate> candidates;
    if (arch != Arch::sm_90a) return candidates;
    const Shape shape = tuning_shape(spec);

    const std::int64_t filter_tiles = (spec.out_channels + 63) / 64;
    StreamTile tile;
    tile.filters = ((spec.out_channels + filter_tiles - 1) / filter_tiles + 7) / 8 * 8;
    const std::int64_t all_channels = (spec.in_channels + 3) / 4 * 4;
    for (tile.channels = std::min<std::int64_t>(all_channels, 64); tile.channels > 0; tile.channels -= 4) {
        // Only such passes as divide the channels evenly, but for the padding of the last.
        if ((all_channels + tile.channels - 1) / tile.channels * tile.channels - all_channels >= tile.channels / 2 + 4) continue;
        for (const StreamTile& each : legal_tiles(spec, tile)) candidates.push_back(stream_cost(spec, each, shape, arch));
    }
    return candidates;
}

double HopperStreamFamily::predicted_us(const ModelSpec& spec, const Tile& tile, const Shape& shape, const Arch& arch) const {
    return stream_cost(spec, StreamTile::from(tile), shape, arch).predicted_us;
}

std::vector<std::byte> HopperStreamFamily::pack(const ModelSpec& spec, const Tile& tile, const Weights& weights) const {
    const StreamTile stream = StreamTile::from(tile);
    const double log2_e = 1.4426950408889634;
    const double scale = spec.activation == Activation::sigmoid ? -log2_e : 1.0;
    const double weight_scale = scale / static_cast<double>(spec.pool_kernel_size.height * spec.pool_kernel_size.width);
    const std::int64_t taps = spec.kernel_size.height * spec.kernel_size.width;
    const std::int64_t operand = stream.operand_bytes() / 4;
    const std::int64_t parts = spec.math == Math::tf32 ? 1 : 2;

    std::vector<float> packed(static_cast<std::size_t>(stream.weights_bytes(spec) / 4), 0.0F);
    float* step = packed.data();
    for (std::int64_t pass = 0; pass < stream.passes(spec); ++pass) {
        for (std::int64_t filter_tile = 0; filter_tile < stream.filter_tiles(spec); ++filter_tile) {
            for (std::int64_t k_step = 0; k_step < stream.k_steps(spec); ++k_step, step += parts * operand) {
                for (std::int64_t k = 0; k < 8; ++k) {
                    // Column t (+ 4) of k-step j is value 2j (+ 1) of lane t: a tap of its channel 4v + t.
                    const std::int64_t value = 2 * k_step + k / 4;
                    if (value >= stream.lane_values(spec)) continue;
                    const std::int64_t index = 4 * (value / taps) + k % 4;
                    const std::int64_t channel = stream.first_channel(spec, pass) + index;
                    // What a lane reads twice counts once: where channels run out, and where the last pass begins early.
                    if (index >= stream.stage_channels(spec) || channel < pass * stream.channels) continue;
                    for (std::int64_t column = 0; column < stream.filters; ++column) {
                        const std::int64_t filter = filter_tile * stream.filters + column;
                        if (filter >= spec.out_channels) break;
                        const std::int64_t from = (filter * spec.in_channels + channel) * taps + value % taps;
                        const double weight = static_cast<double>(weights.weight[static_cast<std::size_t>(from)]) * weight_scale;
                        // Core matrices of 8 filters × 4 values: first along the filters, then along k.
                        const std::int64_t to = ((k / 4 * (stream.filters / 8) + column / 8) * 8 + column % 8) * 4 + k % 4;
                        const float large = round_to_tf32(weight);
                        step[to] = large;
                        if (parts == 2) step[operand + to] = round_to_tf32(weight - static_cast<double>(large));
                    }
                }
            }
        }
    }
    for (std::size_t filter = 0; filter < weights.bias.size(); ++filter) {
        step[filter] = static_cast<float>(static_cast<double>(weights.bias[filter]) * scale);
    }
    std::vector<std::byte> bytes(packed.size() * sizeof(float));
    std::memcpy(bytes.data(), packed.data(), bytes.size());
    return bytes;
}

Family::BlockShape HopperStreamFamily::block(const ModelSpec& /*spec*/, const Tile& tile) const {
    return {.threads = static_cast<int>(StreamTile::from(tile).threads()), .shared_bytes = static_cast<int>(stream_shared_bytes)};
}

LaunchGeometry HopperStreamFamily::geometry(const ModelSpec& spec, const Tile& tile, const Shape& shape,
                                            const DeviceLimits& limits) const {
    const StreamTile stream = StreamTile::from(tile);
    const StreamLayout layout = stream_layout(spec, stream, shape, limits.multiprocessors);
    LaunchGeometry geometry;
    geometry.grid = layout.grid;
    geometry.block = static_cast<int>(stream.threads());
    geometry.shared_bytes = static_cast<int>(stream_shared_bytes);
    geometry.may_start_early = true;
    if (layout.own_images == 0) {
        geometry.counter_bytes = static_cast<std::size_t>(shape.batch) * sizeof(std::uint32_t);
        geometry.partial_bytes = static_cast<std::size_t>(shape.batch + layout.shared_runs) * sizeof(double);
    }
    geometry.layout = layout.words();
    if (layout.may_bulk && stream.has_panels(spec)) {
        geometry.input_box = {
            .columns = StreamTile::panel_columns, .channels = stream.stage_channels(spec), .rows = stream.stage_rows};
    }
    return geometry;
}

}  // namespace kiln
