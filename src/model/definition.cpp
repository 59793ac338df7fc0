// SPDX-License-Identifier: Apache-2.0
#include "model/definition.hpp"

#include <algorithm>
#include <cmath>

#include "model/geometry.hpp"
#include "support/parallel.hpp"
#include "support/rounding.hpp"

namespace kiln {

namespace {

/// The output columns x with 0 ≤ x < width for which the input column x·stride + offset lies inside the image.
struct Columns {
    std::int64_t first;
    std::int64_t last;  // one past
};

Columns columns_inside(std::int64_t width, std::int64_t image_width, std::int64_t stride, std::int64_t offset) {
    const std::int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const std::int64_t last = image_width > offset ? (image_width - offset - 1) / stride + 1 : 0;
    return {std::min(first, width), std::clamp<std::int64_t>(last, std::min(first, width), width)};
}

/// One row of the convolution: row[x] = bias + Σ over (c, ky, kx) of w[c, ky, kx] · image[c, y·s + d·ky − p, x·s + d·kx − p],
/// pixels outside the image being zero.
void convolve_row(const ModelSpec& spec, std::span<const float> filter, double bias, std::span<const float> image,
                  const Shape& shape, std::int64_t y, std::vector<double>& row) {
    const auto width = static_cast<std::int64_t>(row.size());
    std::fill(row.begin(), row.end(), bias);
    const float* weight = filter.data();
    for (std::int64_t c = 0; c < spec.in_channels; ++c) {
        for (std::int64_t ky = 0; ky < spec.kernel_size.height; ++ky) {
            const std::int64_t input_y = y * spec.stride.height + ky * spec.dilation.height - spec.padding.height;
            for (std::int64_t kx = 0; kx < spec.kernel_size.width; ++kx, ++weight) {
                if (input_y < 0 || input_y >= shape.height) continue;
                const std::int64_t offset = kx * spec.dilation.width - spec.padding.width;
                const auto [first, last] = columns_inside(width, shape.width, spec.stride.width, offset);
                const float* pixels = image.data() + (c * shape.height + input_y) * shape.width + offset;
                const double w = *weight;
                for (std::int64_t x = first; x < last; ++x) row[static_cast<std::size_t>(x)] += w * pixels[x * spec.stride.width];
            }
        }
    }
}

/// τ(z), given S.
double logit_bound(const ModelSpec& spec, double bias, double magnitude) {
    constexpr double u = 0x1p-24;
    const auto chunks = static_cast<double>(ceil_divide(reduction_length(spec), 32));
    const auto pool = static_cast<double>(spec.pool_kernel_size.height + spec.pool_kernel_size.width);
    const double rounded_operands = spec.math == Math::tf32 ? 0x1p-10 * magnitude : 0.0;
    return u * (2 * std::abs(bias) + (44 + pool + chunks) * magnitude) + rounded_operands;
}

std::span<const float> image_of(std::span<const float> input, const ModelSpec& spec, const Shape& shape, std::int64_t n) {
    const auto length = static_cast<std::size_t>(spec.in_channels * shape.height * shape.width);
    return input.subspan(static_cast<std::size_t>(n) * length, length);
}

std::vector<float> magnitudes(std::span<const float> values) {
    std::vector<float> result(values.size());
    std::transform(values.begin(), values.end(), result.begin(), [](float value) { return std::abs(value); });
    return result;
}

/// Σ over one filter's logits of (activation, bound).
BoundedSum bounded_filter_sum(const ModelSpec& spec, const Weights& weights, std::span<const float> image,
                              const Weights& absolute_weights, std::span<const float> absolute_image, const Shape& shape,
                              std::int64_t filter) {
    const std::vector<double> logits = pooled_convolution(spec, weights, image, shape, filter);
    const std::vector<double> sizes = pooled_convolution(spec, absolute_weights, absolute_image, shape, filter);
    const double bias = spec.bias ? weights.bias[static_cast<std::size_t>(filter)] : 0.0;
    BoundedSum sum;
    for (std::size_t index = 0; index < logits.size(); ++index) {
        const double value = activate(spec.activation, logits[index]);
        const double slope = spec.activation == Activation::sigmoid ? value * (1 - value) : 1.0;
        sum.value += value;
        sum.tolerance += slope * logit_bound(spec, bias, sizes[index]) + 1e-6 * std::abs(value);
    }
    return sum;
}

}  // namespace

double activate(Activation activation, double logit) {
    return activation == Activation::sigmoid ? 1.0 / (1.0 + std::exp(-logit)) : logit;
}

std::vector<double> pooled_convolution(const ModelSpec& spec, const Weights& weights, std::span<const float> image,
                                       const Shape& shape, std::int64_t filter) {
    const auto [pooled_height, pooled_width] = pooled_size_unchecked(spec, shape);
    const auto [pool_height, pool_width] = spec.pool_kernel_size;
    const auto length = static_cast<std::size_t>(reduction_length(spec));
    const auto filter_weights = weights.weight.subspan(static_cast<std::size_t>(filter) * length, length);
    const double bias = spec.bias ? weights.bias[static_cast<std::size_t>(filter)] : 0.0;

    std::vector<double> pooled(static_cast<std::size_t>(pooled_height * pooled_width), 0.0);
    std::vector<double> row(static_cast<std::size_t>(pooled_width * pool_width));  // the remainder's columns are never made
    for (std::int64_t y = 0; y < pooled_height * pool_height; ++y) {
        convolve_row(spec, filter_weights, bias, image, shape, y, row);
        double* pooled_row = pooled.data() + (y / pool_height) * pooled_width;
        for (std::size_t x = 0; x < row.size(); ++x) pooled_row[x / static_cast<std::size_t>(pool_width)] += row[x];
    }
    for (double& each : pooled) each /= static_cast<double>(pool_height * pool_width);
    return pooled;
}

std::vector<BoundedSum> bounded_reference(const ModelSpec& spec, const Weights& weights, std::span<const float> input,
                                          const Shape& shape) {
    const std::vector<float> absolute_weight = magnitudes(weights.weight);
    // |bias| has its own term in the bound: S is of the products alone.
    const std::vector<float> no_bias(weights.bias.size(), 0.0F);
    const Weights absolute_weights{absolute_weight, no_bias};

    std::vector<BoundedSum> sums(static_cast<std::size_t>(shape.batch));
    for (std::int64_t n = 0; n < shape.batch; ++n) {
        const auto image = image_of(input, spec, shape, n);
        const std::vector<float> absolute_image = magnitudes(image);
        std::vector<BoundedSum> filters(static_cast<std::size_t>(spec.out_channels));
        parallel_for(filters.size(), [&](std::size_t filter) {
            filters[filter] = bounded_filter_sum(spec, weights, image, absolute_weights, absolute_image, shape,
                                                 static_cast<std::int64_t>(filter));
        });
        BoundedSum& sum = sums[static_cast<std::size_t>(n)];
        for (const BoundedSum& each : filters) sum = {sum.value + each.value, sum.tolerance + each.tolerance};
    }
    return sums;
}

}  // namespace kiln
