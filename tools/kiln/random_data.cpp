// SPDX-License-Identifier: Apache-2.0
#include "kiln/random_data.hpp"

#include <algorithm>
#include <random>

#include "support/parallel.hpp"

namespace kiln::tools {

std::vector<float> normal_values(std::uint64_t count, std::uint64_t seed, float deviation) {
    constexpr std::uint64_t chunk = 1 << 18;
    std::vector<float> values(count);
    parallel_for((count + chunk - 1) / chunk, [&](std::size_t index) {
        std::mt19937_64 generator(seed * 1'000'003 + index);
        std::normal_distribution<float> normal(0.0F, deviation);
        const std::uint64_t end = std::min(count, (index + 1) * chunk);
        for (std::uint64_t i = index * chunk; i < end; ++i) values[i] = normal(generator);
    });
    return values;
}

}  // namespace kiln::tools
