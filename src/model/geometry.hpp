// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <kiln/spec.hpp>

namespace kiln {

/// The size of the convolution's output; PyTorch's formula. Zero or negative where the kernel does not fit.
///     ⌊(size + 2·padding − dilation·(kernel − 1) − 1) / stride⌋ + 1
[[nodiscard]] Size2 convolved_size(const ModelSpec& spec, const Shape& shape) noexcept;

/// The size of the pooled map: the convolution's output divided by the pool, remainder dropped.
[[nodiscard]] Size2 pooled_size_unchecked(const ModelSpec& spec, const Shape& shape) noexcept;

/// How many pixels of a row or column one pooled window spans: stride·(pool − 1) + dilation·(kernel − 1) + 1.
[[nodiscard]] Size2 window_size(const ModelSpec& spec) noexcept;

/// Multiply-adds behind one logit: in_channels·kernel_h·kernel_w.
[[nodiscard]] std::int64_t reduction_length(const ModelSpec& spec) noexcept;

}  // namespace kiln
