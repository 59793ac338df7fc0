// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace kiln::tools {

std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape) {
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; })) return std::nullopt;
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max() / sizeof(float);
    std::uint64_t count = 1;
    for (const std::int64_t size : shape) {
        if (static_cast<std::uint64_t>(size) > most / count) return std::nullopt;
        count *= static_cast<std::uint64_t>(size);
    }
    return count;
}

std::string to_string(std::span<const std::int64_t> shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace kiln::tools
