// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <kiln/model.hpp>
#include <kiln/spec.hpp>

#include "model/definition.hpp"

namespace kiln::tools {

/// The sums by another way than the definition's, in double: pooling and convolution are linear, so the pixels are summed first
/// (a box filter), and one convolution of stride s·P follows. What `--check` compares the CPU's reference with; shares no code
/// with it.
///
/// The tolerance is the numerics contract's with double's u = 2⁻⁵³ in the place of fp32's, and room for adding up the
/// activations. Arguments have been checked. Uses every core.
[[nodiscard]] std::vector<BoundedSum> rewritten_sums(const ModelSpec& spec, const Weights& weights, std::span<const float> input,
                                                     const Shape& shape);

}  // namespace kiln::tools
