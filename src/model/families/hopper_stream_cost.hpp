// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kiln/arch.hpp>
#include <kiln/spec.hpp>

#include "model/families/hopper_stream_tile.hpp"

namespace kiln {

/// How a launch lays a shape out: in the least number of strips that a tile has room for or, where that keeps more warps busy,
/// the next.
[[nodiscard]] StreamLayout stream_layout(const ModelSpec& spec, const StreamTile& tile, const Shape& shape,
                                         std::int64_t multiprocessors);

/// The time of a forward at this shape by the slowest unit.
[[nodiscard]] Candidate stream_cost(const ModelSpec& spec, const StreamTile& tile, const Shape& shape, const Arch& arch);

}  // namespace kiln
