// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kiln::tools {

static_assert(std::endian::native == std::endian::little,
              "the tensor files hold little-endian numbers, which are copied as they are");

/// A tensor in host memory: row-major (C order), float32.
struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
};

/// The product of the sizes, or nothing if one is negative or the tensor's bytes would not be counted by 63 bits.
/// Any size of zero makes an empty tensor, whatever the others are.
[[nodiscard]] std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape);

/// "[128, 8, 384, 384]", as in messages.
[[nodiscard]] std::string to_string(std::span<const std::int64_t> shape);

}  // namespace kiln::tools
