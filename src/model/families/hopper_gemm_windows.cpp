// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_gemm_windows.hpp"

#include <array>
#include <set>
#include <tuple>
#include <utility>

namespace kiln {

GemmWindows::GemmWindows(const ModelSpec& spec) {
    const auto used = [](const Size2& size, const Size2& pool, const Size2& stride, const Size2& dilation, bool across) {
        std::set<std::int64_t> starts, pixels;
        const std::int64_t taps = across ? size.width : size.height, length = across ? pool.width : pool.height;
        const std::int64_t step = across ? stride.width : stride.height, apart = across ? dilation.width : dilation.height;
        for (std::int64_t tap = 0; tap < taps; ++tap) {
            for (std::int64_t position = 0; position < (across ? 2 : 1); ++position) {
                starts.insert(position * step * length + tap * apart);
            }
        }
        for (const std::int64_t start : starts) {
            for (std::int64_t d = 0; d < length; ++d) pixels.insert(start + d * step);
        }
        return std::pair{static_cast<std::int64_t>(starts.size()), static_cast<std::int64_t>(pixels.size())};
    };
    lines = used(spec.kernel_size, spec.pool_kernel_size, spec.stride, spec.dilation, false).second;
    std::tie(boxes, columns) = used(spec.kernel_size, spec.pool_kernel_size, spec.stride, spec.dilation, true);
}

std::int64_t GemmWindows::registers(const ModelSpec& spec, const GemmTile& tile) const {
    return tile.filters + 12 * tile.long_steps(spec) + spec.pool_kernel_size.height * boxes + columns + 16;
}

GemmTile GemmTile::from(const Tile& tile) {
    GemmTile gemm;
    gemm.warpgroups = tile_value(tile, "warpgroups");
    gemm.builders = tile_value(tile, "builders");
    gemm.filters = tile_value(tile, "filters");
    gemm.channels = tile_value(tile, "channels");
    gemm.splits = tile_value(tile, "splits");
    gemm.steps = tile_value(tile, "steps");
    gemm.stages = tile_value(tile, "stages");
    gemm.bf16_corrections = tile_value(tile, "bf16_corrections");
    gemm.map_rows = tile_value(tile, "map_rows");
    gemm.map_floats = tile_value(tile, "map_floats");
    gemm.pixel_stages = tile_value(tile, "pixel_stages");
    gemm.pixel_floats = tile_value(tile, "pixel_floats");
    return gemm;
}

Tile GemmTile::render(const ModelSpec& spec) const {
    return {{"warpgroups", warpgroups},
            {"builders", builders},
            {"filters", filters},
            {"channels", channels},
            {"splits", splits},
            {"steps", steps},
            {"stages", stages},
            {"bf16_corrections", bf16_corrections},
            {"map_rows", map_rows},
            {"map_floats", map_floats},
            {"pixel_stages", pixel_stages},
            {"pixel_floats", pixel_floats},
            {"shared_bytes", shared_bytes(spec)}};
}

std::int64_t GemmTile::filter_tiles(const ModelSpec& spec) const {
    return ceil_divide(spec.out_channels, filters);
}
std::int64_t GemmTile::chunks(const ModelSpec& spec) const {
    return ceil_divide(spec.in_channels, channels);
}

std::int64_t apart_in_banks(std::int64_t stride, std::int64_t step, const Shape& shape, bool twos_in_turn) {
    // Of two channels that begin a number of banks apart: how many pairs in the one meet one in the other.
    std::array<std::int64_t, 32> meetings{};
    for (std::int64_t pair = 0; pair < 8; ++pair) {
        for (std::int64_t other = 0; other < 8; ++other) ++meetings[static_cast<std::size_t>((pair - other) * step & 31)];
    }
    std::int64_t best = stride, fewest = 0;
    for (std::int64_t tried = stride; tried < stride + 32; tried += 4) {
        std::int64_t all = 0;
        for (std::int64_t alignment = 0; alignment < 4; ++alignment) {
            const auto begin = [&](std::int64_t channel) {
                const std::int64_t planes = twos_in_turn ? channel % 2 : channel;
                return channel * tried + (alignment + planes * (shape.height * shape.width % 4)) % 4;
            };
            for (std::int64_t channel = 1; channel < 4; ++channel) {
                for (std::int64_t other = 0; other < channel; ++other)
                    all += meetings[static_cast<std::size_t>((begin(channel) - begin(other)) & 31)];
            }
        }
        if (tried > stride && all >= fewest) continue;
        best = tried;
        fewest = all;
    }
    return best;
}

}  // namespace kiln
