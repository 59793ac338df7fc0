// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kiln/spec.hpp>

#include "model/families/simt_tile.hpp"
#include "model/families/tile_windows.hpp"
#include "model/rates.hpp"

namespace kiln {

/// The registers that a thread of this tile needs without spilling: when it multiplies, for totals, a chain's sums and operands;
/// when it builds, for totals and the windows that it loads at once.
[[nodiscard]] std::int64_t simt_registers(const ModelSpec& spec, const SimtTile& tile, const TileWindows& windows);

struct SimtCost {
    double predicted_us = 0;
    const char* limiter = "";
};

/// The time of a forward at this shape by the slowest unit.
[[nodiscard]] SimtCost simt_cost(const ModelSpec& spec, const SimtTile& tile, const TileWindows& windows, const Shape& shape,
                                 const Rates& rates);

}  // namespace kiln
