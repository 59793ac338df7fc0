// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_shift_family.hpp"

#include <algorithm>
#include <cstring>
#include <numbers>

#include "model/families/hopper_shift_cost.hpp"
#include "model/families/hopper_shift_tile.hpp"
#include "model/families/tf32.hpp"
#include "model/geometry.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

/// A factor that the tensor cores read of 64 rows: core matrices of 8 rows × 16 bytes of k.
constexpr std::int64_t operand_bytes = std::int64_t{64} * 8 * 4;

template <typename T>
void store(std::byte* operand, std::int64_t row, std::int64_t k, T value) {
    static_assert(sizeof value == 4);
    std::memcpy(operand + ((k / 4 * 8 + row / 8) * 32 + row % 8 * 4 + k % 4) * 4, &value, sizeof value);
}

/// Writes one weight of a k-step: rounded, and what corrects it.
void put(std::byte* step, const ModelSpec& spec, const ShiftTile& tile, std::int64_t filter, std::int64_t k, double weight) {
    const float rounded = round_to_tf32(weight);
    const double rest = weight - static_cast<double>(rounded);
    std::byte* const group = step + filter / 64 * ShiftTile::weight_parts(spec) * operand_bytes;
    store(group, filter % 64, k, rounded);
    if (spec.math == Math::tf32) return;
    if (tile.bf16_corrections == 1) {  // in the order in which they meet the boxes' rest, and the boxes
        store(group + operand_bytes, filter % 64, k,
              std::uint32_t{round_to_bf16(static_cast<double>(rounded))} | std::uint32_t{round_to_bf16(rest)} << 16);
    } else {
        store(group + operand_bytes, filter % 64, k, round_to_tf32(rest));
    }
}

}  // namespace

std::vector<Candidate> HopperShiftFamily::candidates(const ModelSpec& spec, const Arch& arch) const {
    if (arch != Arch::sm_90a) return {};
    return shift_candidates(spec);
}

double HopperShiftFamily::predicted_us(const ModelSpec& spec, const Tile& tile, const Shape& shape, const Arch& /*arch*/) const {
    return shift_cost(spec, ShiftTile::from(tile), shape).predicted_us;
}

std::vector<std::byte> HopperShiftFamily::pack(const ModelSpec& spec, const Tile& tile, const Weights& weights) const {
    const ShiftTile shift = ShiftTile::from(tile);
    const std::vector<ShiftTap> taps = shift_taps(spec);
    const auto count = static_cast<std::int64_t>(taps.size());
    const std::int64_t steps = shift.chunk_steps(spec), chunks = shift.chunks(spec), filter_tiles = ShiftTile::filter_tiles(spec);
    const double scale = spec.activation == Activation::sigmoid ? -std::numbers::log2e : 1.0;
    const double pooled_scale = scale / static_cast<double>(spec.pool_kernel_size.height * spec.pool_kernel_size.width);

    std::vector<std::byte> packed(
        static_cast<std::size_t>(ShiftTile::bias_bytes(spec) + filter_tiles * chunks * steps * ShiftTile::step_bytes(spec)));
    for (std::int64_t filter = 0; spec.bias && filter < spec.out_channels; ++filter) {
        const auto bias = static_cast<float>(static_cast<double>(weights.bias[static_cast<std::size_t>(filter)]) * scale);
        std::memcpy(packed.data() + 4 * filter, &bias, sizeof bias);
    }
    std::byte* step = packed.data() + ShiftTile::bias_bytes(spec);
    for (std::int64_t filter_tile = 0; filter_tile < filter_tiles; ++filter_tile) {
        const std::int64_t first_filter = filter_tile * ShiftTile::filters;
        const std::int64_t filters = std::min(ShiftTile::filters, spec.out_channels - first_filter);
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
            for (std::int64_t index = 0; index < steps; ++index, step += ShiftTile::step_bytes(spec)) {
                for (std::int64_t k = 0; k < 8; ++k) {
                    // Four channels of one tap, then four more of it or the same of the next.
                    std::int64_t four = chunk, tap = 2 * index + k / 4;
                    if (shift.fours == 2) four = 2 * chunk + k / 4, tap = index;
                    if (shift.fours == 1 && 2 * index + 1 == count) {  // the last of an odd number is alone
                        if (k < 4) continue;
                        tap = count - 1;
                    }
                    const std::int64_t channel = 4 * four + k % 4;
                    if (channel >= spec.in_channels) continue;
                    const ShiftTap at = taps[static_cast<std::size_t>(tap)];
                    for (std::int64_t filter = 0; filter < filters; ++filter) {
                        const std::int64_t of =
                            (((first_filter + filter) * spec.in_channels + channel) * spec.kernel_size.height + at.ky) *
                                spec.kernel_size.width +
                            at.kx;
                        put(step, spec, shift, filter, k,
                            static_cast<double>(weights.weight[static_cast<std::size_t>(of)]) * pooled_scale);
                    }
                }
            }
        }
    }
    return packed;
}

Family::BlockShape HopperShiftFamily::block(const ModelSpec& spec, const Tile& tile) const {
    return {.threads = static_cast<int>(ShiftTile::threads),
            .shared_bytes = static_cast<int>(ShiftTile::from(tile).shared_bytes(spec))};
}

LaunchGeometry HopperShiftFamily::geometry(const ModelSpec& spec, const Tile& tile, const Shape& shape,
                                           const DeviceLimits& limits) const {
    const ShiftTile shift = ShiftTile::from(tile);
    const auto [beside, splits, layout] = shift_launch(spec, shift, shape, limits.multiprocessors);
    const std::int64_t filter_tiles = ShiftTile::filter_tiles(spec);
    const std::int64_t units = layout.tiles * filter_tiles;

    LaunchGeometry geometry;
    // A block that shares its channels with others has one unit.
    geometry.grid = splits > 1 ? units * splits : std::min<std::int64_t>(units, limits.multiprocessors);
    geometry.block = static_cast<int>(ShiftTile::threads);
    geometry.shared_bytes = static_cast<int>(shift.shared_bytes(spec));
    geometry.may_start_early = true;
    geometry.counter_bytes = static_cast<std::size_t>(shape.batch) * sizeof(unsigned);
    geometry.partial_bytes = static_cast<std::size_t>((shape.batch + layout.tiles) * filter_tiles) * sizeof(double);
    if (shift.beside != 1) {
        const std::int64_t halves = splits > 1 ? 2 : 1;  // pairs of blocks divide a tile's filters among them
        const std::int64_t slots_of_filters = beside > 1 ? layout.tiles * beside : shape.batch + layout.tiles;
        const std::int64_t slots = round_up(slots_of_filters * filter_tiles * halves, 2);
        geometry.cluster = static_cast<int>(halves);
        geometry.partial_bytes = static_cast<std::size_t>(slots) * sizeof(double);
        if (splits > 2) {  // the pairs' parts of the logits
            geometry.counter_bytes += static_cast<std::size_t>(2 * units) * sizeof(unsigned);
            geometry.partial_bytes +=
                static_cast<std::size_t>(units * splits / 2 * ShiftTile::filters * shift.places) * sizeof(float);
        }
    }
    geometry.layout = {units,
                       layout.tile_spots | layout.tile_rows << 32,
                       layout.strips | splits << 32,
                       layout.strip_width | (beside > 1 ? std::int64_t{3} << 32 : 0),
                       layout.pixel_pitch | (layout.copies_fours ? std::int64_t{1} << 32 : 0),
                       layout.pixel_channel_stride | layout.pixel_image_stride << 32,
                       shape.height * shape.width,
                       shape.batch * spec.in_channels * shape.height * shape.width};
    return geometry;
}

}  // namespace kiln
