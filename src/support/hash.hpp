// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/bytes.hpp"

namespace kiln {

/// An XXH3-128 hash. It tells apart what differs by accident; it is not cryptographic and authenticates nothing.
struct Hash128 {
    static constexpr std::size_t size_bytes = 16;

    std::array<std::byte, size_bytes> bytes{};  ///< XXH3's canonical (big-endian) form, the same on every machine

    /// 32 lower-case hexadecimal digits.
    [[nodiscard]] std::string hex() const;

    /// The last eight bytes as a number: already as good as random.
    [[nodiscard]] std::uint64_t low64() const noexcept;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a comparison with zero in what the compiler writes
    friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

[[nodiscard]] Hash128 xxh3_128(ByteView bytes) noexcept;

/// Reads what `Hash128::hex` writes, and nothing else.
[[nodiscard]] std::optional<Hash128> parse_hash(std::string_view hex) noexcept;

/// The hash of what comes in pieces.
class Hasher {
public:
    Hasher();
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;
    ~Hasher();

    void update(ByteView bytes) noexcept;
    [[nodiscard]] Hash128 digest() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace kiln
