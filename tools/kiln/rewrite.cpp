// SPDX-License-Identifier: Apache-2.0
#include "kiln/rewrite.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "support/parallel.hpp"

namespace kiln::tools {
namespace {

constexpr double u = 0x1p-53;

/// The box sums of one pooled row, `[reduction][pooled_width]`: of the pixels, and of their absolute values.
struct Boxes {
    std::vector<double> sums;
    std::vector<double> magnitudes;
};

class Rewrite {
public:
    Rewrite(const ModelSpec& spec, const Weights& weights, std::span<const float> input, const Shape& shape)
        : spec_(spec), weights_(weights), input_(input), shape_(shape), pooled_(pooled_size(spec, shape)) {}

    [[nodiscard]] std::int64_t rows() const { return pooled_.height; }

    /// Image n's share of pooled row i, over all filters.
    [[nodiscard]] BoundedSum row_sum(std::int64_t n, std::int64_t i) const {
        const Boxes boxes = boxes_of(n, i);
        const std::int64_t reduction = spec_.in_channels * spec_.kernel_size.height * spec_.kernel_size.width;
        const auto window = static_cast<double>(spec_.pool_kernel_size.height * spec_.pool_kernel_size.width);
        BoundedSum sum;
        std::vector<double> logits(width());
        std::vector<double> magnitudes(width());
        for (std::int64_t o = 0; o < spec_.out_channels; ++o) {
            std::fill(logits.begin(), logits.end(), 0.0);
            std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
            for (std::int64_t k = 0; k < reduction; ++k) {
                const double weight = weights_.weight[static_cast<std::size_t>(o * reduction + k)];
                const std::size_t row = static_cast<std::size_t>(k) * width();
                for (std::size_t j = 0; j < width(); ++j) {
                    logits[j] += weight * boxes.sums[row + j];
                    magnitudes[j] += std::abs(weight) * boxes.magnitudes[row + j];
                }
            }
            const double bias = spec_.bias ? weights_.bias[static_cast<std::size_t>(o)] : 0.0;
            for (std::size_t j = 0; j < width(); ++j) add(bias + logits[j] / window, bias, magnitudes[j] / window, sum);
        }
        return sum;
    }

private:
    [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(pooled_.width); }

    void add(double logit, double bias, double magnitude, BoundedSum& sum) const {
        const bool sigmoid = spec_.activation == Activation::sigmoid;
        const double value = sigmoid ? 1 / (1 + std::exp(-logit)) : logit;
        const double slope = sigmoid ? value * (1 - value) : 1.0;
        const auto terms = static_cast<double>(44 + spec_.pool_kernel_size.height * spec_.pool_kernel_size.width +
                                               spec_.in_channels * spec_.kernel_size.height * spec_.kernel_size.width);
        const auto values = static_cast<double>(pooled_.height * pooled_.width * spec_.out_channels);
        sum.value += value;
        sum.tolerance += slope * u * (2 * std::abs(bias) + 2 * terms * magnitude) + 2 * u * (values + 8) * std::abs(value);
    }

    /// Columns first, over the window's rows; then along the row. A pixel outside the image is zero.
    [[nodiscard]] Boxes boxes_of(std::int64_t n, std::int64_t i) const {
        const auto [kernel_height, kernel_width] = spec_.kernel_size;
        Boxes boxes;
        for (std::int64_t c = 0; c < spec_.in_channels; ++c) {
            for (std::int64_t ky = 0; ky < kernel_height; ++ky) {
                const Boxes columns = columns_of(n, c, i, ky);
                for (std::int64_t kx = 0; kx < kernel_width; ++kx) append_row(columns, kx, boxes);
            }
        }
        return boxes;
    }

    /// Over dy: x[n, c, s·(Ph·i + dy) + d·ky − p, ·], for every column of the image.
    [[nodiscard]] Boxes columns_of(std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t ky) const {
        const auto columns = static_cast<std::size_t>(shape_.width);
        Boxes result{std::vector<double>(columns, 0.0), std::vector<double>(columns, 0.0)};
        for (std::int64_t dy = 0; dy < spec_.pool_kernel_size.height; ++dy) {
            const std::int64_t y = spec_.stride.height * (spec_.pool_kernel_size.height * i + dy) + spec_.dilation.height * ky -
                                   spec_.padding.height;
            if (y < 0 || y >= shape_.height) continue;
            const auto start = static_cast<std::size_t>(((n * spec_.in_channels + c) * shape_.height + y) * shape_.width);
            for (std::size_t x = 0; x < columns; ++x) {
                const double pixel = input_[start + x];
                result.sums[x] += pixel;
                result.magnitudes[x] += std::abs(pixel);
            }
        }
        return result;
    }

    void append_row(const Boxes& columns, std::int64_t kx, Boxes& boxes) const {
        for (std::int64_t j = 0; j < pooled_.width; ++j) {
            double sum = 0;
            double magnitude = 0;
            for (std::int64_t dx = 0; dx < spec_.pool_kernel_size.width; ++dx) {
                const std::int64_t x = spec_.stride.width * (spec_.pool_kernel_size.width * j + dx) + spec_.dilation.width * kx -
                                       spec_.padding.width;
                if (x < 0 || x >= shape_.width) continue;
                sum += columns.sums[static_cast<std::size_t>(x)];
                magnitude += columns.magnitudes[static_cast<std::size_t>(x)];
            }
            boxes.sums.push_back(sum);
            boxes.magnitudes.push_back(magnitude);
        }
    }

    const ModelSpec& spec_;
    const Weights& weights_;
    std::span<const float> input_;
    Shape shape_;
    Size2 pooled_;
};

}  // namespace

std::vector<BoundedSum> rewritten_sums(const ModelSpec& spec, const Weights& weights, std::span<const float> input,
                                       const Shape& shape) {
    const Rewrite rewrite(spec, weights, input, shape);
    const auto rows = static_cast<std::size_t>(rewrite.rows());
    std::vector<BoundedSum> parts(static_cast<std::size_t>(shape.batch) * rows);
    parallel_for(parts.size(), [&](std::size_t part) {
        parts[part] = rewrite.row_sum(static_cast<std::int64_t>(part / rows), static_cast<std::int64_t>(part % rows));
    });
    std::vector<BoundedSum> sums(static_cast<std::size_t>(shape.batch));
    for (std::size_t part = 0; part < parts.size(); ++part) {
        BoundedSum& sum = sums[part / rows];
        sum = {sum.value + parts[part].value, sum.tolerance + parts[part].tolerance};
    }
    return sums;
}

}  // namespace kiln::tools
