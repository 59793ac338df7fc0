// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>

#include "support/random_case.hpp"

/// Data that fp32 products and sums find hard.
namespace kiln::test {

/// One operand over twelve decades, each pixel by itself.
inline void spread_magnitudes(RandomCase& random, std::uint32_t seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> exponent(-20.0F, 20.0F);
    for (float& value : random.input) value *= std::exp2(exponent(generator));
}

inline void make_non_negative(RandomCase& random) {
    for (float& value : random.input) value = std::abs(value);
    for (float& value : random.weight) value = std::abs(value);
}

/// All products positive and much alike: an adder that truncates drifts furthest.
inline void make_same_sign(RandomCase& random, std::uint32_t seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> near_one(0.5F, 1.5F);
    for (float& value : random.input) value = near_one(generator);
    for (float& value : random.weight) value = near_one(generator);
}

/// Neighbouring channels cancel to a small rest.
inline void make_cancelling(RandomCase& random) {
    const auto plane = static_cast<std::size_t>(random.shape.height * random.shape.width);
    for (std::size_t index = plane; index < random.input.size(); ++index) {
        if (index / plane % 2 == 1) random.input[index] = -random.input[index - plane] * (1 + 0x1p-20F);
    }
    const auto taps = static_cast<std::size_t>(random.spec.kernel_size.height * random.spec.kernel_size.width);
    for (std::size_t index = taps; index < random.weight.size(); ++index) {
        if (index / taps % 2 == 1) random.weight[index] = random.weight[index - taps];
    }
}

/// Each image by a factor of its own, from 1e-30 to 1e30, and each pixel by up to 30 more: as far as the contract's domain goes.
inline void scale_images(RandomCase& random, std::uint32_t seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> exponent(-94.0F, 94.0F), own(-5.0F, 5.0F);
    const std::size_t image = random.input.size() / static_cast<std::size_t>(random.shape.batch);
    float factor = 1;
    for (std::size_t index = 0; index < random.input.size(); ++index) {
        if (index % image == 0) factor = std::exp2(exponent(generator));
        random.input[index] *= factor * std::exp2(own(generator));
    }
    // Large weights would leave the domain, and small ones make products that are flushed.
    for (float& weight : random.weight) weight = std::copysign(0.25F + std::abs(weight), weight);
}

/// One pixel of each image is a million times the others.
inline void make_one_huge(RandomCase& random, std::uint32_t seed) {
    std::mt19937 generator(seed);
    const std::size_t image = random.input.size() / static_cast<std::size_t>(random.shape.batch);
    std::uniform_int_distribution<std::size_t> pixel(0, image - 1);
    for (std::size_t first = 0; first < random.input.size(); first += image) random.input[first + pixel(generator)] *= 0x1p20F;
}

inline constexpr std::array<std::string_view, 7> data_kinds{"normal", "non_negative", "same_sign", "wide",
                                                            "scaled", "cancelling",   "one_huge"};

/// Normal data made into one of `data_kinds`.
inline void make_kind(RandomCase& random, std::string_view kind, std::uint32_t seed) {
    if (kind == "non_negative") make_non_negative(random);
    if (kind == "same_sign") make_same_sign(random, seed);
    if (kind == "wide") spread_magnitudes(random, seed);
    if (kind == "scaled") scale_images(random, seed);
    if (kind == "cancelling") make_cancelling(random);
    if (kind == "one_huge") make_one_huge(random, seed);
}

}  // namespace kiln::test
