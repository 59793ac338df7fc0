// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <kiln/export.hpp>

namespace kiln {

/// A size in two dimensions; one number stands for both, as in PyTorch.
struct Size2 {
    std::int64_t height;
    std::int64_t width;

    constexpr Size2(std::int64_t both) noexcept : height(both), width(both) {}  // NOLINT(google-explicit-constructor)
    constexpr Size2(std::int64_t h, std::int64_t w) noexcept : height(h), width(w) {}

    friend constexpr bool operator==(const Size2&, const Size2&) noexcept = default;
};

/// What follows the pooling. `identity` serves tests and linear models.
enum class Activation { sigmoid, identity };

/// How products are made. `fp32`: as accurate as fp32 arithmetic, whatever unit computes it (docs/numerics.md).
/// `tf32` allows operands rounded to TF32 and one product, where the kernel family that serves the spec has them; else it means
/// fp32, and `KernelReport::note` says so.
enum class Math { fp32, tf32 };

/// The run-time sizes of an input `x[batch, in_channels, height, width]`, in elements.
struct Shape {
    std::int64_t batch = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;

    friend constexpr bool operator==(const Shape&, const Shape&) noexcept = default;
};

/// The constructor arguments of `Conv2d → AvgPool2d → activation → sum`; names and defaults are PyTorch's.
///
///     y[n] = Σ over (o, i, j) of activation(AvgPool2d(Conv2d(x)))[n, o, i, j]
///
/// The pooling has stride `pool_kernel_size` and no padding, and drops remainder rows and columns.
/// Everything that enters a kernel is in here and in the arch. A plain value: copy it freely.
struct ModelSpec {
    std::int64_t in_channels = 0;
    std::int64_t out_channels = 0;
    Size2 kernel_size = 0;
    Size2 pool_kernel_size = 0;
    Size2 stride = 1;    ///< of the convolution
    Size2 padding = 0;   ///< of the convolution, zeros on each side
    Size2 dilation = 1;  ///< of the convolution
    bool bias = true;
    Activation activation = Activation::sigmoid;
    Math math = Math::fp32;
    std::optional<Shape> expected = std::nullopt;  ///< what to tune for; any shape gives right results

    friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// Checks a spec on its own.
/// @throws Error `invalid_argument` naming the field, its value and what is allowed.
KILN_API void validate(const ModelSpec& spec);

/// Checks a spec together with the run-time shape of its input.
/// @throws Error `invalid_argument`, as above; a batch of zero is allowed.
KILN_API void validate(const ModelSpec& spec, const Shape& shape);

/// The size of the pooled map that is summed over, `{PH, PW}`, for an input of this shape.
/// @throws Error `invalid_argument` where no window fits.
[[nodiscard]] KILN_API Size2 pooled_size(const ModelSpec& spec, const Shape& shape);

}  // namespace kiln
