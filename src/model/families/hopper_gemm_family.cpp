// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_gemm_family.hpp"

#include <algorithm>
#include <cstring>
#include <numbers>

#include "model/families/hopper_gemm_cost.hpp"
#include "model/families/hopper_gemm_tile.hpp"
#include "model/families/tf32.hpp"
#include "model/geometry.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

/// What a chunk has at place k of its reduction: kernel_templates/hopper_gemm_sizes.cuh says why in this order.
struct Place {
    std::int64_t channel = -1;  ///< -1: padding
    std::int64_t tap = 0;
};

Place place(const ModelSpec& spec, const GemmTile& tile, std::int64_t k) {
    const std::int64_t item = k / 4, lane = k % 4;
    if (item >= tile.chunk_items(spec)) return {};
    if (!tile.has_maps()) {
        const std::int64_t taps = spec.kernel_size.height * spec.kernel_size.width;
        return {item / taps * 4 + lane, item % taps};
    }
    if (tile.channels % 4 == 0) return {item % (tile.channels / 4) * 4 + lane, item / (tile.channels / 4)};
    const std::int64_t line_items = ceil_divide(spec.kernel_size.width, 4), line = item / line_items;
    const std::int64_t kx = item % line_items * 4 + lane;
    if (kx >= spec.kernel_size.width) return {};
    return {line / spec.kernel_size.height, line % spec.kernel_size.height * spec.kernel_size.width + kx};
}

/// Writes one k-step's weights as core matrices of 8 filters × 16 bytes of k: rounded, then what corrects them.
class StepPacker {
public:
    StepPacker(std::byte* step, const ModelSpec& spec, const GemmTile& tile) : step_(step), spec_(spec), tile_(tile) {}

    void put(std::int64_t k, std::int64_t filter, double weight) const {
        const float rounded = round_to_tf32(weight);
        const double rest = weight - static_cast<double>(rounded);
        store(at(0, k, filter, 4), rounded);
        if (spec_.math == Math::tf32) return;
        if (tile_.bf16_corrections == 0) {
            store(at(1, k, filter, 4), round_to_tf32(rest));
            return;
        }
        // A's columns 2t, 2t + 1 are values at k = t, t + 4, and meet the weights' rests; 2t + 8, 2t + 9 are their rests.
        const std::int64_t column = 2 * (k % 4) + k / 4;
        store(at(1, column, filter, 2), round_to_bf16(rest));
        store(at(1, column + 8, filter, 2), round_to_bf16(weight));
    }

private:
    template <typename T>
    static void store(std::byte* to, T value) {
        std::memcpy(to, &value, sizeof value);
    }
    /// Where an operand has (k, filter), its elements being `bytes` wide.
    [[nodiscard]] std::byte* at(std::int64_t operand, std::int64_t k, std::int64_t filter, std::int64_t bytes) const {
        const std::int64_t across = 16 / bytes;  // elements of k in a core matrix
        const std::int64_t core = k / across * (tile_.filters / 8) + filter / 8;
        return step_ + operand * tile_.operand_bytes() + core * 128 + filter % 8 * 16 + k % across * bytes;
    }

    std::byte* step_;
    const ModelSpec& spec_;
    const GemmTile& tile_;
};

}  // namespace

std::vector<Candidate> HopperGemmFamily::candidates(const ModelSpec& spec, const Arch& arch) const {
    if (arch != Arch::sm_90a) return {};
    return gemm_candidates(spec);
}

double HopperGemmFamily::predicted_us(const ModelSpec& spec, const Tile& tile, const Shape& shape, const Arch& /*arch*/) const {
    return gemm_cost(spec, GemmTile::from(tile), shape).predicted_us;
}

std::vector<std::byte> HopperGemmFamily::pack(const ModelSpec& spec, const Tile& tile, const Weights& weights) const {
    const GemmTile gemm = GemmTile::from(tile);
    const std::int64_t taps = spec.kernel_size.height * spec.kernel_size.width;
    const std::int64_t steps = gemm.chunk_steps(spec), chunks = gemm.chunks(spec), filter_tiles = gemm.filter_tiles(spec);
    const double scale = spec.activation == Activation::sigmoid ? -std::numbers::log2e : 1.0;
    const double pooled_scale = scale / static_cast<double>(spec.pool_kernel_size.height * spec.pool_kernel_size.width);

    std::vector<std::byte> packed(
        static_cast<std::size_t>(gemm.bias_bytes(spec) + filter_tiles * chunks * steps * gemm.step_bytes(spec)));
    for (std::int64_t filter = 0; spec.bias && filter < spec.out_channels; ++filter) {
        const auto bias = static_cast<float>(static_cast<double>(weights.bias[static_cast<std::size_t>(filter)]) * scale);
        std::memcpy(packed.data() + 4 * filter, &bias, sizeof bias);
    }
    std::byte* step = packed.data() + gemm.bias_bytes(spec);
    for (std::int64_t filter_tile = 0; filter_tile < filter_tiles; ++filter_tile) {
        const std::int64_t first_filter = filter_tile * gemm.filters;
        const std::int64_t filters = std::min(gemm.filters, spec.out_channels - first_filter);
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
            for (std::int64_t k = 0; k < 8 * steps; ++k) {
                const Place at = place(spec, gemm, k);
                const std::int64_t channel = gemm.input_channel(spec, chunk, at.channel);
                if (at.channel < 0 || channel >= spec.in_channels) continue;  // stays zero
                const StepPacker packer(step + k / 8 * gemm.step_bytes(spec), spec, gemm);
                for (std::int64_t filter = 0; filter < filters; ++filter) {
                    const std::int64_t index = ((first_filter + filter) * spec.in_channels + channel) * taps + at.tap;
                    packer.put(k % 8, filter,
                               static_cast<double>(weights.weight[static_cast<std::size_t>(index)]) * pooled_scale);
                }
            }
            step += steps * gemm.step_bytes(spec);
        }
    }
    return packed;
}

Family::BlockShape HopperGemmFamily::block(const ModelSpec& spec, const Tile& tile) const {
    const GemmTile gemm = GemmTile::from(tile);
    return {.threads = static_cast<int>(gemm.threads()), .shared_bytes = static_cast<int>(gemm.shared_bytes(spec))};
}

LaunchGeometry HopperGemmFamily::geometry(const ModelSpec& spec, const Tile& tile, const Shape& shape,
                                          const DeviceLimits& limits) const {
    const GemmTile gemm = GemmTile::from(tile);
    const auto [splits, layout] = gemm_launch(spec, gemm, shape, limits.multiprocessors);
    const std::int64_t tiles = ceil_divide(gemm.all_places(spec, shape), layout.places);
    const std::int64_t units = tiles * gemm.filter_tiles(spec);

    LaunchGeometry geometry;
    // A block that shares its channels with others has one unit: its maps and stages become the place where their sums meet.
    geometry.grid = splits > 1 ? units * splits : std::min<std::int64_t>(units, limits.multiprocessors);
    geometry.block = static_cast<int>(gemm.threads());
    geometry.cluster = static_cast<int>(splits);
    geometry.shared_bytes = static_cast<int>(gemm.shared_bytes(spec));
    geometry.may_start_early = true;
    geometry.counter_bytes = static_cast<std::size_t>(shape.batch) * sizeof(unsigned);
    geometry.partial_bytes = static_cast<std::size_t>((shape.batch + tiles) * gemm.filter_tiles(spec) * splits) * sizeof(double);
    geometry.layout = {units,
                       layout.places,
                       (layout.by_rows ? 1 : 0) | splits << 1,
                       layout.pitch,
                       layout.phase_stride,
                       layout.channel_stride,
                       layout.pixel_pitch,
                       layout.pixel_channel_stride};
    return geometry;
}

}  // namespace kiln
