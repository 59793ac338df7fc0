// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace kiln::tools {

/// Normal values, the same for a seed however many cores there are: images where none are given, weights to measure with.
[[nodiscard]] std::vector<float> normal_values(std::uint64_t count, std::uint64_t seed, float deviation = 1.0F);

}  // namespace kiln::tools
