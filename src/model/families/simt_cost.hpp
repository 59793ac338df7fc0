// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kiln/spec.hpp>

#include "model/families/simt_tile.hpp"
#include "model/rates.hpp"

namespace kiln {

/// The registers that a thread of this tile needs without spilling: its totals and, beside them, either a chain's sums and
/// operands or the sums of a window.
[[nodiscard]] std::int64_t simt_registers(const ModelSpec& spec, const SimtTile& tile, const SimtWindows& windows);

/// The time of a forward at this shape by the slowest unit.
[[nodiscard]] Candidate simt_cost(const ModelSpec& spec, const SimtTile& tile, const SimtWindows& windows, const Shape& shape,
                                  const Rates& rates);

}  // namespace kiln
