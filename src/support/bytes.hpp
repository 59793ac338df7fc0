// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace kiln {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

inline ByteView as_bytes(std::string_view text) noexcept {
    return std::as_bytes(std::span(text));
}

inline std::string_view as_text(ByteView bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[nodiscard]] inline bool equal(ByteView a, ByteView b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

inline void append(Bytes& out, ByteView bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Reads an integer in little-endian order at an offset; the caller has checked that it lies within.
template <std::unsigned_integral T>
[[nodiscard]] T load_little(ByteView bytes, std::size_t offset) noexcept {
    static_assert(std::endian::native == std::endian::little, "CUDA hosts are little-endian");
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

template <std::unsigned_integral T>
void store_little(std::span<std::byte> bytes, std::size_t offset, T value) noexcept {
    static_assert(std::endian::native == std::endian::little, "CUDA hosts are little-endian");
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

}  // namespace kiln
