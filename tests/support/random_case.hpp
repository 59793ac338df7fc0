// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <kiln/model.hpp>
#include <kiln/spec.hpp>

namespace kiln::test {

/// A spec, a shape that fits it, and data, all drawn from one seed. Small: meant for many cases.
struct RandomCase {
    ModelSpec spec;
    Shape shape;
    std::vector<float> weight, bias, input;

    [[nodiscard]] Weights weights() const { return {weight, bias}; }
};

inline std::vector<float> random_values(std::size_t count, std::mt19937& generator, float scale = 1.0F) {
    std::normal_distribution<float> normal(0.0F, scale);
    std::vector<float> values(count);
    for (float& value : values) value = normal(generator);
    return values;
}

/// For messages.
inline std::string describe(const ModelSpec& spec) {
    const auto size = [](Size2 value) { return std::to_string(value.height) + "x" + std::to_string(value.width); };
    return std::to_string(spec.in_channels) + "→" + std::to_string(spec.out_channels) + " kernel " + size(spec.kernel_size) +
           " pool " + size(spec.pool_kernel_size) + " stride " + size(spec.stride) + " padding " + size(spec.padding) +
           " dilation " + size(spec.dilation) + (spec.bias ? " bias" : "") +
           (spec.activation == Activation::sigmoid ? " sigmoid" : " identity") + (spec.math == Math::tf32 ? " tf32" : "");
}

/// Without the sigmoid, whose flat ends would hide errors of a sum.
inline ModelSpec identity_spec(std::int64_t in_channels, std::int64_t out_channels, Size2 kernel, Size2 pool) {
    return {.in_channels = in_channels,
            .out_channels = out_channels,
            .kernel_size = kernel,
            .pool_kernel_size = pool,
            .activation = Activation::identity};
}

inline std::size_t input_length(const ModelSpec& spec, const Shape& shape) {
    return static_cast<std::size_t>(shape.batch * spec.in_channels * shape.height * shape.width);
}

inline std::size_t weight_length(const ModelSpec& spec) {
    return static_cast<std::size_t>(spec.out_channels * spec.in_channels * spec.kernel_size.height * spec.kernel_size.width);
}

/// Normal data for a spec and shape.
inline RandomCase drawn_case(const ModelSpec& spec, const Shape& shape, std::uint32_t seed) {
    std::mt19937 generator(seed);
    RandomCase result{spec, shape, {}, {}, {}};
    result.weight = random_values(weight_length(spec), generator, 0.3F);
    if (spec.bias) result.bias = random_values(static_cast<std::size_t>(spec.out_channels), generator, 0.3F);
    result.input = random_values(input_length(spec, shape), generator);
    return result;
}

/// Rectangles, strides, paddings and dilations of every kind, K < P and K > P, remainders, one window and many.
inline RandomCase random_case(std::uint32_t seed) {
    std::mt19937 generator(seed);
    const auto pick = [&](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(generator);
    };
    ModelSpec spec{.in_channels = pick(1, 9),
                   .out_channels = pick(1, 12),
                   .kernel_size = {pick(1, 5), pick(1, 5)},
                   .pool_kernel_size = {pick(1, 5), pick(1, 5)}};
    if (pick(0, 1) == 1) spec.stride = {pick(1, 3), pick(1, 3)};
    if (pick(0, 1) == 1) spec.padding = {pick(0, 3), pick(0, 3)};
    if (pick(0, 1) == 1) spec.dilation = {pick(1, 3), pick(1, 3)};
    spec.bias = pick(0, 1) == 1;
    spec.activation = pick(0, 1) == 1 ? Activation::sigmoid : Activation::identity;

    const auto extent = [&](std::int64_t kernel, std::int64_t pool, std::int64_t stride, std::int64_t padding,
                            std::int64_t dilation) {
        const std::int64_t window = stride * (pool - 1) + dilation * (kernel - 1) + 1;
        const std::int64_t least = window - 2 * padding;
        return (least > 1 ? least : 1) + pick(0, 4 * stride * pool);
    };
    const Shape shape{.batch = pick(1, 3),
                      .height = extent(spec.kernel_size.height, spec.pool_kernel_size.height, spec.stride.height,
                                       spec.padding.height, spec.dilation.height),
                      .width = extent(spec.kernel_size.width, spec.pool_kernel_size.width, spec.stride.width, spec.padding.width,
                                      spec.dilation.width)};
    return drawn_case(spec, shape, seed + 1);
}

/// Many channels and filters, as tensor cores want them, over few windows: chunks and tiles that are not full, tiles that span
/// images, a reduction that several blocks share.
inline RandomCase random_wide_case(std::uint32_t seed) {
    RandomCase small = random_case(seed);
    std::mt19937 generator(seed + 2);
    const auto pick = [&](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(generator);
    };
    ModelSpec& spec = small.spec;
    spec.in_channels = pick(0, 3) == 0 ? pick(7, 13) : pick(14, 70);
    spec.out_channels = pick(0, 3) == 0 ? pick(129, 200) : pick(5, 90);
    spec.pool_kernel_size = {std::min<std::int64_t>(spec.pool_kernel_size.height, 4),
                             std::min<std::int64_t>(spec.pool_kernel_size.width, 4)};
    Shape shape = small.shape;
    shape.batch = pick(1, 9);
    return drawn_case(spec, shape, seed + 3);
}

}  // namespace kiln::test
