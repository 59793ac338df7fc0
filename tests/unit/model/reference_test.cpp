// SPDX-License-Identifier: Apache-2.0
#include <kiln/reference.hpp>

#include <cmath>
#include <limits>

#include <rapidcheck.h>
#include <kiln/error.hpp>

#include "model/definition.hpp"
#include "model/geometry.hpp"
#include "support/catch.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

/// The pixel at (y, x) of the padded image; PyTorch pads with zeros.
double padded(const RandomCase& random, std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    const Shape& shape = random.shape;
    y -= random.spec.padding.height;
    x -= random.spec.padding.width;
    if (y < 0 || y >= shape.height || x < 0 || x >= shape.width) return 0;
    return random.input[static_cast<std::size_t>(((n * random.spec.in_channels + c) * shape.height + y) * shape.width + x)];
}

double weight_at(const RandomCase& random, std::int64_t o, std::int64_t c, std::int64_t ky, std::int64_t kx) {
    const auto& spec = random.spec;
    return random.weight[static_cast<std::size_t>(
        ((o * spec.in_channels + c) * spec.kernel_size.height + ky) * spec.kernel_size.width + kx)];
}

template <typename Body>
void for_each_tap(const ModelSpec& spec, Body body) {
    for (std::int64_t c = 0; c < spec.in_channels; ++c)
        for (std::int64_t ky = 0; ky < spec.kernel_size.height; ++ky)
            for (std::int64_t kx = 0; kx < spec.kernel_size.width; ++kx) body(c, ky, kx);
}

/// One value of the convolution's output, index by index.
double convolved(const RandomCase& random, std::int64_t n, std::int64_t o, std::int64_t y, std::int64_t x) {
    const auto& spec = random.spec;
    double value = spec.bias ? random.bias[static_cast<std::size_t>(o)] : 0.0;
    for_each_tap(spec, [&](std::int64_t c, std::int64_t ky, std::int64_t kx) {
        value += weight_at(random, o, c, ky, kx) * padded(random, n, c, y * spec.stride.height + ky * spec.dilation.height,
                                                          x * spec.stride.width + kx * spec.dilation.width);
    });
    return value;
}

double pooled_by_definition(const RandomCase& random, std::int64_t n, std::int64_t o, std::int64_t i, std::int64_t j) {
    const auto [height, width] = random.spec.pool_kernel_size;
    double sum = 0;
    for (std::int64_t dy = 0; dy < height; ++dy)
        for (std::int64_t dx = 0; dx < width; ++dx) sum += convolved(random, n, o, i * height + dy, j * width + dx);
    return sum / static_cast<double>(height * width);
}

/// The rewrite: box sums first, dilated by the stride, then a convolution whose stride is stride·pool.
double pooled_by_rewrite(const RandomCase& random, std::int64_t n, std::int64_t o, std::int64_t i, std::int64_t j) {
    const auto& spec = random.spec;
    const std::int64_t height = spec.pool_kernel_size.height, width = spec.pool_kernel_size.width;
    double value = 0;
    for_each_tap(spec, [&](std::int64_t c, std::int64_t ky, std::int64_t kx) {
        const std::int64_t y = spec.stride.height * height * i + spec.dilation.height * ky;
        const std::int64_t x = spec.stride.width * width * j + spec.dilation.width * kx;
        double box = 0;
        for (std::int64_t dy = 0; dy < height; ++dy)
            for (std::int64_t dx = 0; dx < width; ++dx)
                box += padded(random, n, c, y + spec.stride.height * dy, x + spec.stride.width * dx);
        value += weight_at(random, o, c, ky, kx) * box;
    });
    return (spec.bias ? random.bias[static_cast<std::size_t>(o)] : 0.0) + value / static_cast<double>(height * width);
}

template <typename Logit>
std::vector<double> sums_of(const RandomCase& random, Logit logit) {
    const auto [pooled_height, pooled_width] = pooled_size(random.spec, random.shape);
    std::vector<double> sums(static_cast<std::size_t>(random.shape.batch), 0.0);
    for (std::int64_t n = 0; n < random.shape.batch; ++n)
        for (std::int64_t o = 0; o < random.spec.out_channels; ++o)
            for (std::int64_t i = 0; i < pooled_height; ++i)
                for (std::int64_t j = 0; j < pooled_width; ++j)
                    sums[static_cast<std::size_t>(n)] += activate(random.spec.activation, logit(random, n, o, i, j));
    return sums;
}

bool nearly_equal(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t index = 0; index < a.size(); ++index) {
        if (!(std::abs(a[index] - b[index]) <= 1e-10 * (1 + std::abs(a[index])))) return false;
    }
    return true;
}

std::vector<double> reference_of(const RandomCase& random) {
    return reference(random.spec, random.weights(), random.input, random.shape);
}

}  // namespace

TEST_CASE("the reference is the definition, index by index, for random specs") {
    CHECK(rc::check([](std::uint32_t seed) {
        const RandomCase random = random_case(seed);
        RC_ASSERT(nearly_equal(reference_of(random), sums_of(random, pooled_by_definition)));
    }));
}

TEST_CASE("the rewrite in double equals the definition for random specs") {
    CHECK(rc::check([](std::uint32_t seed) {
        const RandomCase random = random_case(seed);
        RC_ASSERT(nearly_equal(reference_of(random), sums_of(random, pooled_by_rewrite)));
    }));
}

TEST_CASE("the reference of a known case") {
    // One 2×2 window of a 1×1 convolution: mean of 2·{1, 2, 3, 4} + 0.5 = 5.5.
    const std::vector<float> weight{2.0F}, bias{0.5F}, input{1, 2, 3, 4};
    ModelSpec spec{.in_channels = 1, .out_channels = 1, .kernel_size = 1, .pool_kernel_size = 2};
    CHECK(reference(spec, {weight, bias}, input, {1, 2, 2})[0] == Approx(1 / (1 + std::exp(-5.5))));
    spec.activation = Activation::identity;
    CHECK(reference(spec, {weight, bias}, input, {1, 2, 2})[0] == Approx(5.5));
}

TEST_CASE("a pixel that no window uses changes nothing, and a NaN in a window makes that image's sum NaN and no other's") {
    // Width 7 with kernel 2 and pool 2: windows end at column 6; row 4 and column 6 are remainder.
    const ModelSpec spec{.in_channels = 2, .out_channels = 3, .kernel_size = 2, .pool_kernel_size = 2};
    RandomCase random = drawn_case(spec, {.batch = 2, .height = 4, .width = 6}, 5);
    const std::vector<double> before = reference_of(random);
    const auto pixel = [&](std::size_t n, std::size_t y, std::size_t x) -> float& {
        return random.input[((n * 2) * 4 + y) * 6 + x];
    };

    pixel(0, 3, 0) = std::numeric_limits<float>::quiet_NaN();
    pixel(1, 0, 5) = std::numeric_limits<float>::infinity();
    CHECK(reference_of(random) == before);

    pixel(1, 2, 4) = std::numeric_limits<float>::quiet_NaN();
    CHECK(reference_of(random)[0] == before[0]);
    CHECK(std::isnan(reference_of(random)[1]));
}

TEST_CASE("the reference refuses an input of the wrong length, and a batch of zero gives no sums") {
    const ModelSpec spec{.in_channels = 1, .out_channels = 1, .kernel_size = 1, .pool_kernel_size = 1, .bias = false};
    const std::vector<float> weight{1.0F}, input(5);
    CHECK_THROWS_AS(reference(spec, {weight, {}}, input, {1, 2, 2}), Error);
    CHECK(reference(spec, {weight, {}}, {}, {0, 2, 2}).empty());
}

TEST_CASE("the bounded reference gives the reference's sums, and a tolerance that shrinks with the data") {
    CHECK(rc::check([](std::uint32_t seed) {
        RandomCase random = random_case(seed);
        const auto bounded = bounded_reference(random.spec, random.weights(), random.input, random.shape);
        const auto plain = reference_of(random);
        for (std::size_t n = 0; n < plain.size(); ++n) {
            RC_ASSERT(std::abs(bounded[n].value - plain[n]) <= 1e-10 * (1 + std::abs(plain[n])));
            RC_ASSERT(bounded[n].tolerance >= 0);  // 0 only where every product is
        }
    }));
}

TEST_CASE("the tolerance of one logit is the contract's formula") {
    const std::vector<float> weight{-3.0F, 2.0F}, bias{0.25F}, input{1, -2, 3, 4, 5, 6, -7, 8};
    const ModelSpec spec{
        .in_channels = 2, .out_channels = 1, .kernel_size = 1, .pool_kernel_size = 2, .activation = Activation::identity};
    const double magnitude = (3.0 * (1 + 2 + 3 + 4) + 2.0 * (5 + 6 + 7 + 8)) / 4;
    const double z = 0.25 + (-3.0 * (1 - 2 + 3 + 4) + 2.0 * (5 + 6 - 7 + 8)) / 4;
    const auto sums = bounded_reference(spec, {weight, bias}, input, {1, 2, 2});
    CHECK(sums[0].value == Approx(z));
    CHECK(sums[0].tolerance == Approx(0x1p-24 * (2 * 0.25 + (44 + 4 + 1) * magnitude) + 1e-6 * std::abs(z)));
}
