// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "driver/entry_points.hpp"
#include "support/result.hpp"

namespace kiln::driver {

/// What the copy engine wants to know about a tensor of floats in memory and about the boxes that it brings of it. Sizes begin
/// with the innermost dimension, whose elements are neighbours.
struct TensorBoxes {
    const float* tensor = nullptr;                 ///< aligned to 16 bytes
    std::array<std::uint64_t, 4> sizes{};          ///< in elements
    std::array<std::uint64_t, 3> pitches_bytes{};  ///< of the outer dimensions: multiples of 16
    std::array<std::uint32_t, 4> box{};            ///< at most 256 of each, of the innermost 128 bytes
};

/// The driver's form of it, opaque, for a kernel's parameter (compute capability 9.0 and later). In shared memory the 16-byte
/// pieces of each 128 bytes are exchanged by the 128-byte swizzle, and what lies outside of the tensor is zero. Pure: no context
/// is needed.
[[nodiscard]] Result<CUtensorMap> encode_tensor_map(const EntryPoints& cuda, const TensorBoxes& boxes);

}  // namespace kiln::driver
