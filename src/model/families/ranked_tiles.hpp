// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <kiln/spec.hpp>

#include "model/family.hpp"

namespace kiln {

/// Of many legal tiles those that are among the best at one of the shapes, about `most` in all; each with what it costs at the
/// first such shape, `cost_of(tile, shape)`.
template <typename Tile, typename CostOf>
std::vector<Candidate> best_at_shapes(const ModelSpec& spec, const std::vector<Tile>& tiles, const std::vector<Shape>& shapes,
                                      std::size_t most, const CostOf& cost_of) {
    using Cost = decltype(cost_of(tiles.front(), shapes.front()));
    std::vector<Candidate> candidates;
    std::vector<bool> is_listed(tiles.size());
    std::vector<std::pair<Cost, std::size_t>> ranked(tiles.size());
    for (const Shape& shape : shapes) {
        for (std::size_t index = 0; index < tiles.size(); ++index) ranked[index] = {cost_of(tiles[index], shape), index};
        const auto count = static_cast<std::ptrdiff_t>(std::min(tiles.size(), most / shapes.size()));
        std::partial_sort(ranked.begin(), ranked.begin() + count, ranked.end(), [](const auto& a, const auto& b) {
            return std::pair(a.first.predicted_us, a.second) < std::pair(b.first.predicted_us, b.second);
        });
        for (auto each = ranked.begin(); each != ranked.begin() + count; ++each) {
            const auto& [cost, index] = *each;
            if (is_listed[index]) continue;
            is_listed[index] = true;
            candidates.push_back({tiles[index].render(spec), cost.predicted_us, cost.limiter});
        }
    }
    return candidates;
}

}  // namespace kiln
