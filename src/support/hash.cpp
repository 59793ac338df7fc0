// SPDX-License-Identifier: Apache-2.0
#include "support/hash.hpp"

#include <cstring>

#include <xxhash.h>

namespace kiln {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

Hash128 from_xxhash(XXH128_hash_t hash) noexcept {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    Hash128 result;
    static_assert(sizeof canonical == Hash128::size_bytes);
    std::memcpy(result.bytes.data(), &canonical, sizeof canonical);
    return result;
}

}  // namespace

std::string Hash128::hex() const {
    std::string text;
    text.reserve(2 * size_bytes);
    for (const std::byte each : bytes) {
        text += digits[std::to_integer<std::size_t>(each >> 4)];
        text += digits[std::to_integer<std::size_t>(each & std::byte{15})];
    }
    return text;
}

std::uint64_t Hash128::low64() const noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = size_bytes - sizeof value; i < size_bytes; ++i)
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    return value;
}

Hash128 xxh3_128(ByteView bytes) noexcept {
    return from_xxhash(XXH3_128bits(bytes.data(), bytes.size()));
}

std::optional<Hash128> parse_hash(std::string_view hex) noexcept {
    if (hex.size() != 2 * Hash128::size_bytes) return std::nullopt;
    Hash128 hash;
    for (std::size_t i = 0; i < hex.size(); ++i) {
        const std::size_t digit = digits.find(hex[i]);
        if (digit == std::string_view::npos) return std::nullopt;
        hash.bytes[i / 2] |= static_cast<std::byte>(i % 2 == 0 ? digit << 4 : digit);
    }
    return hash;
}

struct Hasher::State {
    XXH3_state_t xxhash;  // aligned to 64 bytes, which `new` respects
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
    XXH3_128bits_reset(&state_->xxhash);
}
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::update(ByteView bytes) noexcept {
    XXH3_128bits_update(&state_->xxhash, bytes.data(), bytes.size());
}

Hash128 Hasher::digest() const noexcept {
    return from_xxhash(XXH3_128bits_digest(&state_->xxhash));
}

}  // namespace kiln
