// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kiln/spec.hpp>

#include "model/families/mma_tile.hpp"
#include "model/families/tile_windows.hpp"
#include "model/rates.hpp"

namespace kiln {

/// The registers that a thread of this tile needs without spilling.
[[nodiscard]] std::int64_t mma_registers(const ModelSpec& spec, const MmaTile& tile, const TileWindows& windows);

struct MmaCost {
    double predicted_us = 0;
    const char* limiter = "";
};

/// The time of a forward at this shape by the slowest unit.
[[nodiscard]] MmaCost mma_cost(const ModelSpec& spec, const MmaTile& tile, const TileWindows& windows, const Shape& shape,
                               const Rates& rates);

}  // namespace kiln
