// SPDX-License-Identifier: Apache-2.0
// What only the streaming family does: several streams a block, rings that wrap, passes of channels, every width of copy. The
// shapes have more units than a GPU has multiprocessors, so that no ring is filled only once.
#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/contract.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

std::vector<Plan> stream_plans(const ModelSpec& spec) {
    return some_of(plans_of_family(spec, "hopper_stream"), 6);
}

ModelSpec spec_of(std::int64_t in_channels, std::int64_t out_channels, Size2 kernel, Size2 pool) {
    return {.in_channels = in_channels,
            .out_channels = out_channels,
            .kernel_size = kernel,
            .pool_kernel_size = pool,
            .activation = Activation::identity};
}

std::vector<RandomCase> cases() {
    std::vector<RandomCase> all;
    const auto add = [&](ModelSpec spec, const Shape& shape) {
        spec.expected = shape;
        all.push_back(drawn_case(spec, shape, static_cast<std::uint32_t>(201 + all.size())));
    };
    add(spec_of(8, 8, 3, 4), {40, 96, 96});     // whole rows by the copy engine
    add(spec_of(8, 12, 3, 4), {6, 40, 1040});   // strips of them
    add(spec_of(16, 6, 5, 3), {48, 65, 67});    // four passes, odd rows; more passes than slots
    add(spec_of(32, 10, 1, 7), {300, 28, 28});  // one pass of many channels
    add(spec_of(3, 16, 3, 2), {128, 32, 32});   // an image for each block; two, but one for the last
    add(spec_of(3, 16, 3, 2), {263, 32, 32});
    add(spec_of(6, 67, 3, {3, 2}), {12, 60, 58});  // two tiles of filters, rows of 8 bytes, channels that run out
    add(spec_of(1, 3, 3, 8), {4, 300, 512});
    add(spec_of(8, 8, 3, 2), {30, 33, 144});  // five blocks of columns side by side, seven, eleven
    add(spec_of(4, 16, 3, 2), {30, 33, 210});
    add(spec_of(4, 8, 3, 1), {20, 40, 172});
    add(spec_of(8, 64, 3, 16), {20, 100, 192});  // a large pool
    add(spec_of(12, 8, 3, 4), {24, 43, 132});    // panels whose lines change their swizzle from row to row, and of an odd step
    add(spec_of(12, 8, 1, 6), {24, 43, 136});
    add(spec_of(20, 8, 3, 2), {24, 23, 68});  // and in passes
    ModelSpec padded = spec_of(3, 5, 3, 2);
    padded.padding = 1;
    add(padded, {70, 33, 36});
    ModelSpec rectangle = spec_of(5, 4, {2, 3}, {2, 4});
    rectangle.stride = {2, 1};
    rectangle.padding = {3, 2};
    rectangle.dilation = {1, 2};
    rectangle.bias = false;
    add(rectangle, {30, 41, 90});
    // Rows that start anywhere between multiples of 16 bytes, whole and in strips, padded and not.
    for (const std::int64_t width : {129, 130, 131}) add(spec_of(8, 16, 3, 4), {24, 43, width});
    for (const std::int64_t width : {1041, 1042, 1043}) add(spec_of(5, 8, 3, 4), {4, 31, width});
    for (const std::int64_t width : {61, 62, 63}) {
        add(padded, {40, 29, width});
        ModelSpec wide = spec_of(4, 8, 3, 2);
        wide.padding = {1, 5};  // windows that see padding alone
        add(wide, {9, 22, width});
    }
    ModelSpec gaps = spec_of(2, 7, 2, 3);
    gaps.stride = 3;
    add(gaps, {50, 50, 64});
    return all;
}

}  // namespace

TEST_CASE("the streaming family: every way to bring rows, in streams that share a block") {
    for (const RandomCase& random : cases()) {
        const std::vector<Plan> plans = stream_plans(random.spec);
        if (plans.empty()) continue;
        compile_ahead(random.spec, plans);
        for (const std::size_t offset : {0U, 1U, 2U, 3U}) check_contract(random, plans, Tolerance::sum, offset);
    }
}

TEST_CASE("the streaming family: images of NaN alone change no bit of their neighbours, at any alignment of rows") {
    for (const std::int64_t width : {96, 97, 98, 99}) {
        ModelSpec spec = spec_of(8, 16, 3, 4);
        spec.expected = Shape{7, 41, width};
        const RandomCase clean = drawn_case(spec, *spec.expected, static_cast<std::uint32_t>(width));
        const std::size_t image = clean.input.size() / 7;
        for (const Plan& plan : stream_plans(spec)) {
            for (const std::size_t offset : {0U, 1U}) {
                const std::vector<float> before = forward_once(clean, plan, offset);
                RandomCase random = clean;
                for (std::size_t index = 0; index < random.input.size(); ++index) {
                    if (index / image % 2 == 1) random.input[index] = std::numeric_limits<float>::quiet_NaN();
                }
                const std::vector<float> after = forward_once(random, plan, offset);
                INFO(to_string(plan.candidate.tile) << ", width " << width << ", offset " << offset);
                for (std::size_t n = 0; n < after.size(); ++n) {
                    CHECK((n % 2 == 1 ? std::isnan(after[n]) : bits_of(after[n]) == bits_of(before[n])));
                }
            }
        }
    }
}

TEST_CASE("the streaming family: the same bits again and again, whatever was in memory before") {
    for (const RandomCase& random : cases()) {
        for (const Plan& plan : stream_plans(random.spec)) check_same_bits(random, plan);
    }
}
