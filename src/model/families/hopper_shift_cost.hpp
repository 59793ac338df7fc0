// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <kiln/spec.hpp>

#include "model/families/hopper_shift_tile.hpp"
#include "model/family.hpp"

namespace kiln {

/// The legal tiles of the Hopper shift family for a spec, each with its predicted time.
[[nodiscard]] std::vector<Candidate> shift_candidates(const ModelSpec& spec);

/// A launch of a tile: how many images are beside each other, how many blocks share a unit's channels, and how the shape is
/// divided.
struct ShiftLaunch {
    std::int64_t beside = 1;
    std::int64_t splits = 1;
    ShiftLayout layout;
};
[[nodiscard]] ShiftLaunch shift_launch(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape,
                                       std::int64_t multiprocessors);

/// The time of a forward at this shape by the slowest stage.
[[nodiscard]] Candidate shift_cost(const ModelSpec& spec, const ShiftTile& tile, const Shape& shape);

}  // namespace kiln
