// SPDX-License-Identifier: Apache-2.0
// Data that make a wrong index visible: a sum hides what an impulse, a ramp or a step shows.
#include <vector>

#include "support/catch.hpp"
#include "support/contract.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

const std::vector<ModelSpec>& small_specs() {
    static const std::vector<ModelSpec> specs = [] {
        std::vector<ModelSpec> all{
            {.in_channels = 2, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = 4, .activation = Activation::identity},
            {.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4, .activation = Activation::identity},
            {.in_channels = 2, .out_channels = 3, .kernel_size = 5, .pool_kernel_size = 2, .activation = Activation::identity},
            {.in_channels = 2,
             .out_channels = 3,
             .kernel_size = 3,
             .pool_kernel_size = 2,
             .stride = 2,
             .padding = 1,
             .activation = Activation::identity},
            {.in_channels = 1,
             .out_channels = 2,
             .kernel_size = {2, 3},
             .pool_kernel_size = {3, 1},
             .dilation = {1, 2},
             .bias = false,
             .activation = Activation::identity},
            {.in_channels = 12,
             .out_channels = 20,
             .kernel_size = 3,
             .pool_kernel_size = 2,
             .padding = 1,
             .activation = Activation::identity},
            {.in_channels = 7,
             .out_channels = 9,
             .kernel_size = {3, 5},
             .pool_kernel_size = {1, 3},
             .activation = Activation::identity},
        };
        compile_ahead(all);
        return all;
    }();
    return specs;
}

}  // namespace

TEST_CASE("an impulse at every position of a small image gives the definition's answer") {
    for (const ModelSpec& spec : small_specs()) {
        // Each image of the batch holds one impulse: every (c, y, x) in turn.
        const std::int64_t height = 13, width = 15;
        const std::int64_t pixels = spec.in_channels * height * width;
        RandomCase random = drawn_case(spec, {.batch = pixels, .height = height, .width = width}, 3);
        random.bias.assign(random.bias.size(), 0.0F);
        std::fill(random.input.begin(), random.input.end(), 0.0F);
        for (std::int64_t each = 0; each < pixels; ++each)
            random.input[static_cast<std::size_t>(each * pixels + each)] = 1.0F + static_cast<float>(each);
        check_contract(random, best_plan_of_each_family(spec));
    }
}

TEST_CASE("weights so large that the sigmoid is a step: the sum counts exactly") {
    std::vector<RandomCase> cases;
    for (ModelSpec spec : small_specs()) {
        spec.activation = Activation::sigmoid;
        cases.push_back(drawn_case(spec, {.batch = 4, .height = 29, .width = 31}, 17));
        for (float& weight : cases.back().weight) weight *= 0x1p40F;
    }
    check_contract_in_every_family(cases);
}

TEST_CASE("one hot filter and one hot channel") {
    for (const ModelSpec& spec : small_specs()) {
        for (std::int64_t hot = 0; hot<spec.out_channels; hot += spec.out_channels> 8 ? 7 : 1) {
            RandomCase random = drawn_case(spec, {.batch = 2, .height = 14, .width = 17}, 19);
            const auto length = random.weight.size() / static_cast<std::size_t>(spec.out_channels);
            for (std::size_t index = 0; index < random.weight.size(); ++index) {
                if (static_cast<std::int64_t>(index / length) != hot) random.weight[index] = 0;
            }
            check_contract(random, best_plan_of_each_family(spec));
        }
        for (std::int64_t hot = 0; hot < spec.in_channels; ++hot) {
            RandomCase random = drawn_case(spec, {.batch = 2, .height = 14, .width = 17}, 23);
            for (std::size_t index = 0; index < random.input.size(); ++index) {
                if (static_cast<std::int64_t>(index / (14 * 17)) % spec.in_channels != hot) random.input[index] = 0;
            }
            check_contract(random, best_plan_of_each_family(spec));
        }
    }
}

TEST_CASE("ramps make a shifted window visible, and each image has its own answer") {
    for (const ModelSpec& spec : small_specs()) {
        RandomCase random = drawn_case(spec, {.batch = 7, .height = 23, .width = 27}, 29);
        for (std::size_t index = 0; index < random.input.size(); ++index) {
            const std::size_t x = index % 27, y = index / 27 % 23,
                              image = index / (27 * 23 * static_cast<std::size_t>(spec.in_channels));
            random.input[index] =
                static_cast<float>(x) + 100.0F * static_cast<float>(y) + 10000.0F * static_cast<float>(image * image);
        }
        check_contract(random, best_plan_of_each_family(spec));
    }
}

TEST_CASE("pointers aligned to four bytes alone") {
    for (const ModelSpec& spec : small_specs()) {
        const RandomCase random = drawn_case(spec, {.batch = 3, .height = 24, .width = 32}, 31);
        for (std::size_t offset = 1; offset < 4; ++offset) {
            check_contract(random, best_plan_of_each_family(spec), Tolerance::sum, offset);
        }
    }
}
