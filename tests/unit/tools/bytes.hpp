// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::tools {

/// Numbers to write and read again.
inline constexpr std::array<float, 6> six{1.5F, -2.0F, 3.25F, 0.0F, 1e30F, -1e-30F};

inline std::vector<std::byte> to_bytes(std::string_view text) {
    std::vector<std::byte> bytes(text.size());
    if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

/// The bytes of numbers as they lie in memory.
template <typename Numbers>
std::string raw(const Numbers& numbers) {
    const auto bytes = std::as_bytes(std::span(numbers));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace kiln::tools
