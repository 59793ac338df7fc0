// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <kiln/model.hpp>
#include <kiln/spec.hpp>

namespace kiln {

/// The logits z[i, j] of one filter over one image, straight from the definition and in double: every value of the convolution's
/// output that a pooled window uses, then the mean over each window.
///
/// @param image `[in_channels, height, width]`
/// @return `[PH, PW]`, row-major
[[nodiscard]] std::vector<double> pooled_convolution(const ModelSpec& spec, const Weights& weights, std::span<const float> image,
                                                     const Shape& shape, std::int64_t filter);

/// σ(z) = 1 / (1 + e^−z), or z itself.
[[nodiscard]] double activate(Activation activation, double logit);

/// One image's sum with the error that the numerics contract allows a kernel (docs/numerics.md).
struct BoundedSum {
    double value = 0;      ///< y64, the definition's
    double tolerance = 0;  ///< Σ σ′(z)·τ(z) + 1e-6·y64; identity: Σ τ(z) + 1e-6·Σ|z|
};

/// The definition of every image of a batch, with the bound of each. Twice the work of `reference`. Arguments have been checked.
///     τ(z) = u·(2|bias| + (44 + Ph + Pw + ⌈K/32⌉)·S),  S = 1/(Ph·Pw) · Σ|w||x| over the window,  u = 2⁻²⁴
/// For `math = tf32` the operands' rounding (2⁻¹¹ each) is added: τ + 2⁻¹⁰·S.
[[nodiscard]] std::vector<BoundedSum> bounded_reference(const ModelSpec& spec, const Weights& weights,
                                                        std::span<const float> input, const Shape& shape);

}  // namespace kiln
