// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <kiln/export.hpp>
#include <kiln/model.hpp>
#include <kiln/spec.hpp>

namespace kiln {

/// The definition, on the CPU, in double: convolve, pool, activate, sum, written as plainly as the formula.
///
/// @param input `[batch, in_channels, height, width]`, row-major fp32, host memory
/// @return `y[batch]`
/// Uses every core, and gives the same bits with any number of them. Thread safe.
/// @throws Error `invalid_argument` as `Model` would, also for an input of the wrong length.
[[nodiscard]] KILN_API std::vector<double> reference(const ModelSpec& spec, const Weights& weights, std::span<const float> input,
                                                     const Shape& shape);

}  // namespace kiln
