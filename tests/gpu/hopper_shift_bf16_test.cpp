// SPDX-License-Identifier: Apache-2.0
// Products of the shift family that are corrected in bf16 (docs/numerics.md): long sums, which leave room for what that loses.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "model/geometry.hpp"
#include "support/adversarial.hpp"
#include "support/catch.hpp"
#include "support/contract.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

/// The plans whose products are corrected in bf16.
std::vector<Plan> bf16_plans(const ModelSpec& spec) {
    std::vector<Plan> plans = plans_of_family(spec, "hopper_shift");
    std::erase_if(plans, [](const Plan& plan) { return tile_value(plan.candidate.tile, "bf16_corrections") == 0; });
    return plans;
}

/// One window an image, planned for few images.
ModelSpec spec_of_one_window(std::int64_t in_channels, std::int64_t pool) {
    ModelSpec spec = identity_spec(in_channels, 72, 3, {pool, pool});
    const Size2 window = window_size(spec);
    spec.expected = Shape{16, window.height, window.width};
    return spec;
}

/// The shortest sums that the planner has such plans for, and longer ones.
std::vector<std::int64_t> channels_of_long_sums() {
    for (std::int64_t channels = 192; channels <= 512; channels += 8) {
        if (!bf16_plans(spec_of_one_window(channels, 2)).empty()) return {channels, 512};
    }
    return {};
}

/// One filter has weights, so that a sum is a logit.
RandomCase case_of_one_filter(const ModelSpec& spec, std::int64_t batch) {
    RandomCase random = drawn_case(spec, {batch, spec.expected->height, spec.expected->width}, 741);
    std::fill(random.weight.begin() + reduction_length(spec), random.weight.end(), 0.0F);
    std::fill(random.bias.begin(), random.bias.end(), 0.0F);
    return random;
}

void set_image(RandomCase& random, std::int64_t image, float first_channel, float others) {
    const std::int64_t plane = random.shape.height * random.shape.width, length = random.spec.in_channels * plane;
    const auto begin = random.input.begin() + image * length;
    std::fill(begin, begin + plane, first_channel);
    std::fill(begin + plane, begin + length, others);
}

float with_mantissa(std::uint32_t bits) {
    return std::bit_cast<float>(0x3f800000U | bits);
}

// What rounding to TF32 leaves of these is nearly half a place, and half way between two bf16; they are nearly half way, too. Of
// all pairs searched, boxes and weights of the first lose most upwards, 91.3 u of their product, of the second downwards, 91.4 u.
constexpr std::array<std::uint32_t, 2> worst_boxes{0x8ff8, 0x9008}, worst_weights{0x8ff8, 0x7008};

}  // namespace

TEST_CASE("the shift family: sums corrected in bf16 are within the bound on data of every kind") {
    for (const std::int64_t channels : channels_of_long_sums()) {
        const ModelSpec spec = spec_of_one_window(channels, 2);
        const std::vector<Plan> plans = bf16_plans(spec);
        compile_ahead(spec, plans);
        for (const std::string_view kind : data_kinds) {
            RandomCase random = case_of_one_filter(spec, 96);
            make_kind(random, kind, 742);
            std::fill(random.weight.begin() + reduction_length(spec), random.weight.end(), 0.0F);
            INFO(kind);
            check_contract(random, {plans.front(), plans.back()}, Tolerance::logit_alone);
        }
    }
}

TEST_CASE("the shift family: sums corrected in bf16 are within the bound where each rounding is the worst one") {
    for (const std::int64_t channels : channels_of_long_sums()) {
        const ModelSpec spec = spec_of_one_window(channels, 2);
        const std::vector<Plan> plans = bf16_plans(spec);
        compile_ahead(spec, plans);
        for (std::size_t side = 0; side < 2; ++side) {
            const float box = with_mantissa(worst_boxes[side]) / 4;
            // Few images, whose sums many blocks share, and many.
            for (const std::int64_t batch : {8, 264}) {
                RandomCase random = case_of_one_filter(spec, batch);
                std::fill_n(random.weight.begin(), reduction_length(spec), with_mantissa(worst_weights[side]));
                std::fill_n(random.weight.begin() + 1, 8, 0.0F);  // one box of the first channel
                for (std::int64_t image = 0; image < batch; ++image) {
                    // All alike; or one product, and others so small that whole batches of them round to nothing.
                    const auto small = static_cast<int>(image % 8);
                    set_image(random, image, box, small == 0 ? box : std::ldexp(box, -26 - small));
                }
                check_contract(random, plans, Tolerance::logit_alone);
            }
        }
    }
}

TEST_CASE("the shift family: corrections in bf16 of the largest floats are finite") {
    const ModelSpec spec = spec_of_one_window(512, 1);
    const std::vector<Plan> plans = bf16_plans(spec);
    if (plans.empty()) return;
    compile_ahead(spec, plans);
    RandomCase random = case_of_one_filter(spec, 32);
    for (float& weight : random.weight) weight *= 0x1p-60F;
    for (std::int64_t image = 0; image < random.shape.batch; ++image) {
        // From 2^128 (1 - 2^-9), where a bf16 rounds to infinity, to where a TF32 does.
        const auto bits = 0x7f7f8000U + static_cast<std::uint32_t>(image) * 0x380U;
        set_image(random, image, std::bit_cast<float>(bits), -std::bit_cast<float>(bits));
    }
    check_contract(random, plans, Tolerance::logit_alone);
    // The same of weights; the pool is one pixel, so that they are taken as they are.
    for (float& weight : random.weight) weight = weight == 0 ? 0.0F : std::copysign(std::bit_cast<float>(0x7f7fefffU), weight);
    for (float& pixel : random.input) pixel *= 0x1p-126F * 0x1p-60F;
    check_contract(random, plans, Tolerance::logit_alone);
}

TEST_CASE("the shift family: corrected in bf16, a pixel that is no number or infinite makes its image's sum NaN") {
    const ModelSpec spec = spec_of_one_window(512, 2);
    const std::vector<Plan> plans = bf16_plans(spec);
    if (plans.empty()) return;
    const RandomCase clean = case_of_one_filter(spec, 20);
    const std::vector<float> before = forward_once(clean, plans.front());
    RandomCase random = clean;
    const std::size_t image = random.input.size() / 20;
    const std::array<float, 4> values{std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(0xff800001U),
                                      std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
    for (std::size_t i = 0; i < values.size(); ++i) random.input[(2 + 5 * i) * image + 77] = values[i];
    const std::vector<float> after = forward_once(random, plans.front());
    for (std::size_t n = 0; n < after.size(); ++n) {
        INFO("image " << n);
        if (n % 5 == 2) {
            CHECK(std::isnan(after[n]));
        } else {
            CHECK(after[n] == before[n]);
        }
    }
}
