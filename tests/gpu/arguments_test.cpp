// SPDX-License-Identifier: Apache-2.0
// What forward refuses, and shapes at the limits.
#include <vector>

#include <kiln/kiln.hpp>

#include "model/geometry.hpp"
#include "support/catch.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

template <typename Call>
ErrorCode code_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error.code();
    }
    return ErrorCode::internal;
}

}  // namespace

TEST_CASE("forward refuses null, misaligned and too small, and names them") {
    const RandomCase random =
        drawn_case({.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4}, {2, 40, 44}, 81);
    const Model model = model_of(random);
    DeviceArray<float> x(random.input.size()), y(2);
    Workspace workspace = model.workspace(random.shape);
    const auto refuse = [&](const float* input, float* output, const Shape& shape, Workspace& scratch) {
        return code_of([&] { model.forward(input, output, shape, nullptr, scratch); }) == ErrorCode::invalid_argument;
    };
    CHECK(refuse(nullptr, y.data(), random.shape, workspace));
    CHECK(refuse(x.data(), nullptr, random.shape, workspace));
    CHECK(refuse(reinterpret_cast<const float*>(reinterpret_cast<const char*>(x.data()) + 1), y.data(), random.shape, workspace));
    CHECK(refuse(x.data(), reinterpret_cast<float*>(reinterpret_cast<char*>(y.data()) + 2), random.shape, workspace));
    CHECK(refuse(x.data(), y.data(), {2, 5, 5}, workspace));
    CHECK(refuse(x.data(), y.data(), {-1, 40, 44}, workspace));
    const Model shared_images = model_of(drawn_case(random.spec, {3, 300, 300}, 82));
    Workspace empty;
    if (shared_images.workspace({3, 300, 300}).bytes() > 0) CHECK(refuse(x.data(), y.data(), {3, 300, 300}, empty));
}

TEST_CASE("a batch of zero launches nothing and writes nothing") {
    const RandomCase random =
        drawn_case({.in_channels = 2, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = 2}, {1, 12, 12}, 83);
    const Model model = model_of(random);
    DeviceArray<float> y(4);
    y.fill(0x7fc00001U);
    Workspace workspace = model.workspace({0, 12, 12});
    model.forward(nullptr, y.data(), {0, 12, 12}, nullptr, workspace);
    model.forward(nullptr, y.data(), {0, 12, 12}, nullptr);
    synchronise_device();
    for (const float value : y.download()) CHECK(bits_of(value) == 0x7fc00001U);
}

TEST_CASE("an input past 2^31 elements: the last image is right", "[large]") {
    // 2,100,000 images of 1×32×32 are 2.15e9 elements, as are an eighth as many of eight channels; all alike but the first and
    // the last.
    const std::int64_t channels = GENERATE(std::int64_t{1}, std::int64_t{8});
    const ModelSpec spec{
        .in_channels = channels, .out_channels = 8, .kernel_size = 3, .pool_kernel_size = 4, .activation = Activation::identity};
    const Shape shape{.batch = 2'100'000 / channels, .height = 32, .width = 32};
    const RandomCase three = drawn_case(spec, {3, 32, 32}, 87);
    for (const Plan& plan : best_plan_of_each_family(spec)) {
        const Model model = model_of(three, plan);
        const std::vector<float> expected = forward_once(three, plan);
        DeviceArray<float> x(input_length(spec, shape)), y(static_cast<std::size_t>(shape.batch));
        x.fill(bits_of(0.5F));
        y.fill(0x7fc00001U);
        const auto image = static_cast<std::size_t>(channels * 32 * 32);
        x.upload(std::span(three.input).first(image), 0);
        x.upload(std::span(three.input).subspan(2 * image, image), (static_cast<std::size_t>(shape.batch) - 1) * image);
        Workspace workspace = model.workspace(shape);
        model.forward(x.data(), y.data(), shape, nullptr, workspace);
        synchronise_device();
        const std::vector<float> sums = y.download();
        CHECK(sums.front() == Approx(expected[0]).epsilon(1e-5));
        CHECK(sums.back() == Approx(expected[2]).epsilon(1e-5));
        std::size_t different = 0;
        for (std::size_t n = 1; n + 1 < sums.size(); ++n)
            different += std::abs(sums[n] - sums[1]) <= 1e-4F * std::abs(sums[1]) ? 0 : 1;
        CHECK(different == 0);
    }
}

TEST_CASE("one plane past 2^31 elements", "[large]") {
    const ModelSpec spec =
        GENERATE(ModelSpec{.in_channels = 1, .out_channels = 2, .kernel_size = 3, .pool_kernel_size = 8, .bias = false},
                 ModelSpec{.in_channels = 2, .out_channels = 4, .kernel_size = 7, .pool_kernel_size = 4, .bias = false});
    const Shape shape{.batch = 1, .height = 46'400, .width = 46'400};
    const Size2 window = window_size(spec);
    const Shape one_window{1, window.height, window.width};
    const RandomCase small = drawn_case(spec, one_window, 89);
    for (const Plan& plan : best_plan_of_each_family(spec)) {
        const Model model = model_of(small, plan);
        DeviceArray<float> x(input_length(spec, shape)), y(1);
        x.fill(bits_of(0.25F));
        Workspace workspace = model.workspace(shape);
        model.forward(x.data(), y.data(), shape, nullptr, workspace);
        synchronise_device();
        // Every window is the same: one window's sum times their number.
        const std::vector<float> constant(small.input.size(), 0.25F);
        const double one = reference(spec, small.weights(), std::span(constant), one_window)[0];
        const Size2 pooled = pooled_size(spec, shape);
        CHECK(y.download()[0] == Approx(one * static_cast<double>(pooled.height * pooled.width)).epsilon(1e-5));
    }
}

TEST_CASE("construction says what is wrong with weights, and devices that do not exist") {
    const RandomCase random =
        drawn_case({.in_channels = 2, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = 2}, {1, 12, 12}, 91);
    CHECK(code_of([&] { Model(random.spec, {std::span(random.weight).first(3), random.bias}); }) == ErrorCode::invalid_argument);
    CHECK(code_of([&] { Model(random.spec, random.weights(), {.device = 99}); }) == ErrorCode::no_device);
    CHECK(code_of([&] { Model(random.spec, random.weights(), {.device = -1}); }) == ErrorCode::no_device);
}
