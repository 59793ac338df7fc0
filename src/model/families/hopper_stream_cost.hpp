// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kiln/arch.hpp>
#include <kiln/spec.hpp>

#include "model/families/hopper_stream_tile.hpp"

namespace kiln {

/// The time of a forward at this shape by the slowest unit.
[[nodiscard]] Candidate stream_cost(const ModelSpec& spec, const StreamTile& tile, const Shape& shape, const Arch& arch);

}  // namespace kiln
