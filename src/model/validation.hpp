// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <kiln/model.hpp>
#include <kiln/spec.hpp>

#include "support/result.hpp"

namespace kiln {

/// What Kiln accepts, far past any network in use and small enough that no size below overflows 64 bits.
struct SpecLimits {
    static constexpr std::int64_t channels = 1 << 20;
    static constexpr std::int64_t kernel = 1024;
    static constexpr std::int64_t pool = 1 << 16;
    static constexpr std::int64_t stride = 1 << 16;
    static constexpr std::int64_t padding = 1 << 16;
    static constexpr std::int64_t dilation = 1 << 16;
    static constexpr std::int64_t reduction = 1 << 24;  ///< in_channels·kernel_h·kernel_w
    static constexpr std::int64_t weights = std::int64_t{1} << 31;
    static constexpr std::int64_t window = 1 << 28;  ///< pixels that one pooled window spans in one dimension
    static constexpr std::int64_t batch = std::int64_t{1} << 40;
    static constexpr std::int64_t extent = 1 << 29;  ///< height or width
};

/// Each check names the field, its value and what is allowed.
[[nodiscard]] Result<void> check_spec(const ModelSpec& spec);
[[nodiscard]] Result<void> check_shape(const ModelSpec& spec, const Shape& shape);  ///< of a spec that has been checked
[[nodiscard]] Result<void> check_weights(const ModelSpec& spec, const Weights& weights);

}  // namespace kiln
