// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace kiln {

/// A number of 11 significant bits next to `value`, as the tensor cores take them: the lower 13 bits are zero. Weights are finite
/// and far from the largest float.
[[nodiscard]] inline float round_to_tf32(double value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return std::bit_cast<float>((bits + 0x1000u) & 0xffffe000u);
}

/// A finite bf16 (8 significant bits) next to `value`, as its bits.
[[nodiscard]] inline std::uint16_t round_to_bf16(double value) {
    const std::uint32_t rounded = std::bit_cast<std::uint32_t>(static_cast<float>(value)) + 0x8000u;
    return static_cast<std::uint16_t>((rounded >> 16) - ((rounded & 0x7f800000u) == 0x7f800000u ? 1u : 0u));
}

}  // namespace kiln
