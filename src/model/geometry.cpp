// SPDX-License-Identifier: Apache-2.0
#include "model/geometry.hpp"

namespace kiln {

namespace {

constexpr std::int64_t convolved_extent(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                                        std::int64_t dilation) noexcept {
    const std::int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
    return room < 0 ? 0 : room / stride + 1;
}

constexpr std::int64_t window_extent(std::int64_t kernel, std::int64_t pool, std::int64_t stride,
                                     std::int64_t dilation) noexcept {
    return stride * (pool - 1) + dilation * (kernel - 1) + 1;
}

}  // namespace

Size2 convolved_size(const ModelSpec& spec, const Shape& shape) noexcept {
    return {
        convolved_extent(shape.height, spec.kernel_size.height, spec.stride.height, spec.padding.height, spec.dilation.height),
        convolved_extent(shape.width, spec.kernel_size.width, spec.stride.width, spec.padding.width, spec.dilation.width)};
}

Size2 pooled_size_unchecked(const ModelSpec& spec, const Shape& shape) noexcept {
    const Size2 convolved = convolved_size(spec, shape);
    return {convolved.height / spec.pool_kernel_size.height, convolved.width / spec.pool_kernel_size.width};
}

Size2 window_size(const ModelSpec& spec) noexcept {
    return {window_extent(spec.kernel_size.height, spec.pool_kernel_size.height, spec.stride.height, spec.dilation.height),
            window_extent(spec.kernel_size.width, spec.pool_kernel_size.width, spec.stride.width, spec.dilation.width)};
}

std::int64_t reduction_length(const ModelSpec& spec) noexcept {
    return spec.in_channels * spec.kernel_size.height * spec.kernel_size.width;
}

}  // namespace kiln
