// SPDX-License-Identifier: Apache-2.0
#include "support/logit_error.hpp"

#include <algorithm>
#include <cmath>

#include <kiln/reference.hpp>

#include "model/definition.hpp"
#include "model/geometry.hpp"

namespace kiln::test {

namespace {

/// A NaN once met stays.
double largest_of(double so_far, double value) {
    return std::isnan(value) ? value : std::max(so_far, value);
}

}  // namespace

std::vector<float> sequential_fp32_sums(const RandomCase& random) {
    const ModelSpec& spec = random.spec;
    const auto [window_height, window_width] = window_size(spec);
    const auto scale = 1.0 / static_cast<double>(spec.pool_kernel_size.height * spec.pool_kernel_size.width);
    std::vector<float> sums;
    for (std::int64_t n = 0; n < random.shape.batch; ++n) {
        float sum = 0;
        const float* weight = random.weight.data();
        for (std::int64_t c = 0; c < spec.in_channels; ++c) {
            const float* plane = random.input.data() + (n * spec.in_channels + c) * window_height * window_width;
            for (std::int64_t ky = 0; ky < spec.kernel_size.height; ++ky) {
                for (std::int64_t kx = 0; kx < spec.kernel_size.width; ++kx, ++weight) {
                    float box = 0;
                    for (std::int64_t dy = 0; dy < spec.pool_kernel_size.height; ++dy) {
                        float row = 0;
                        for (std::int64_t dx = 0; dx < spec.pool_kernel_size.width; ++dx)
                            row += plane[(ky + dy) * window_width + kx + dx];
                        box += row;
                    }
                    sum = std::fma(static_cast<float>(*weight * scale), box, sum);
                }
            }
        }
        sums.push_back(sum + (spec.bias ? random.bias[0] : 0.0F));
    }
    return sums;
}

ExactLogits::ExactLogits(const RandomCase& random) {
    RandomCase absolute = random;
    for (float& value : absolute.input) value = std::abs(value);
    for (float& value : absolute.weight) value = std::abs(value);
    std::fill(absolute.bias.begin(), absolute.bias.end(), 0.0F);
    magnitudes = reference(absolute.spec, absolute.weights(), absolute.input, absolute.shape);
    for (const BoundedSum& each : bounded_reference(random.spec, random.weights(), random.input, random.shape)) {
        values.push_back(each.value);
        // The allowance for outer sums has no place here, but for one rounding, of y itself to fp32, which is in no kernel's
        // hands.
        bounds.push_back(each.tolerance - 1e-6 * std::abs(each.value) + 0x1p-24 * std::abs(each.value));
    }
}

LogitError logit_error(const ExactLogits& exact, const std::vector<float>& sums) {
    LogitError error;
    double squares = 0;
    for (std::size_t n = 0; n < sums.size(); ++n) {
        const double off = std::abs(sums[n] - exact.values[n]);
        const double units = off / (0x1p-24 * exact.magnitudes[n]);
        squares += units * units;
        error.largest_units = largest_of(error.largest_units, units);
        error.largest_share = largest_of(error.largest_share, off / exact.bounds[n]);
    }
    error.rms_units = std::sqrt(squares / static_cast<double>(sums.size()));
    return error;
}

double largest_error_in_units(const RandomCase& random, const std::vector<float>& sums) {
    return logit_error(ExactLogits(random), sums).largest_units;
}

}  // namespace kiln::test
