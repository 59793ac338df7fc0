// SPDX-License-Identifier: Apache-2.0
#include "model/validation.hpp"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "model/geometry.hpp"
#include "support/catch.hpp"

using namespace kiln;

namespace {

const ModelSpec headline{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4};

/// The message of a failed check; empty where it passed.
std::string message_of(const Result<void>& checked) {
    return checked ? "" : checked.error().message;
}

std::string spec_message(const std::function<void(ModelSpec&)>& change) {
    ModelSpec spec = headline;
    change(spec);
    return message_of(check_spec(spec));
}

bool mentions(const std::string& message, std::initializer_list<const char*> words) {
    for (const char* word : words) {
        if (message.find(word) == std::string::npos) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("a good spec passes") {
    CHECK(message_of(check_spec(headline)).empty());
}

TEST_CASE("each field out of range is named with its value and what is allowed") {
    CHECK(mentions(spec_message([](ModelSpec& s) { s.in_channels = 0; }), {"in_channels is 0", "from 1 to 1048576"}));
    CHECK(mentions(spec_message([](ModelSpec& s) { s.out_channels = -4; }), {"out_channels is -4", "from 1 to"}));
    CHECK(mentions(spec_message([](ModelSpec& s) { s.in_channels = std::numeric_limits<std::int64_t>::max(); }),
                   {"in_channels is 9223"}));
    CHECK(mentions(spec_message([](ModelSpec& s) { s.kernel_size = {3, 0}; }), {"kernel_size is 3x0", "from 1 to 1024"}));
    CHECK(mentions(spec_message([](ModelSpec& s) { s.pool_kernel_size = -1; }), {"pool_kernel_size is -1x-1", "from 1"}));
    CHECK(mentions(spec_message([](ModelSpec& s) { s.stride = 0; }), {"stride is 0x0"}));
    CHECK(mentions(spec_message([](ModelSpec& s) { s.padding = -1; }), {"padding is -1x-1", "from 0"}));
    CHECK(mentions(spec_message([](ModelSpec& s) { s.dilation = 1 << 30; }), {"dilation is 1073741824"}));
    CHECK(
        mentions(spec_message([](ModelSpec& s) { s.activation = static_cast<Activation>(9); }), {"activation is 9", "sigmoid"}));
    CHECK(mentions(spec_message([](ModelSpec& s) { s.math = static_cast<Math>(9); }), {"math is 9", "fp32"}));
    CHECK(mentions(spec_message([](ModelSpec& s) { s.in_channels = 1 << 20, s.kernel_size = 1024; }),
                   {"in_channels x kernel_size"}));
    CHECK(mentions(spec_message([](ModelSpec& s) { s.out_channels = 1 << 20, s.in_channels = 1 << 20; }),
                   {"out_channels", "weights"}));
    CHECK(mentions(spec_message([](ModelSpec& s) { s.expected = Shape{1, 2, 2}; }), {"expected: ", "kernel_size"}));
}

TEST_CASE("a shape that no window fits is refused with what would fit") {
    CHECK(message_of(check_shape(headline, {128, 384, 384})).empty());
    CHECK(message_of(check_shape(headline, {0, 6, 6})).empty());
    CHECK(mentions(message_of(check_shape(headline, {-1, 6, 6})), {"batch is -1"}));
    CHECK(mentions(message_of(check_shape(headline, {1, 0, 6})), {"height is 0"}));
    CHECK(mentions(message_of(check_shape(headline, {1, 6, 1LL << 40})), {"width is"}));
    CHECK(mentions(message_of(check_shape(headline, {1, 2, 6})), {"kernel_size is 3x3", "2x6"}));
    CHECK(mentions(message_of(check_shape(headline, {1, 6, 5})), {"pool_kernel_size is 4x4", "at most 4x3"}));
    CHECK(mentions(message_of(check_shape(headline, {1LL << 40, 1 << 29, 1 << 29})), {"more than any memory"}));
}

TEST_CASE("an input past 2^31 elements is no error") {
    CHECK(message_of(check_shape(headline, {1 << 20, 384, 384})).empty());
}

TEST_CASE("weights of the wrong length or not finite are refused") {
    const ModelSpec spec{.in_channels = 1, .out_channels = 2, .kernel_size = 1, .pool_kernel_size = 1};
    std::vector<float> weight{1, 2}, bias{0, 0};
    CHECK(message_of(check_weights(spec, {weight, bias})).empty());
    CHECK(mentions(message_of(check_weights(spec, {std::span(weight).first(1), bias})),
                   {"weight has 1 values", "= 2 are expected"}));
    CHECK(mentions(message_of(check_weights(spec, {weight, {}})), {"bias has 0 values", "2"}));
    weight[1] = std::numeric_limits<float>::quiet_NaN();
    CHECK(mentions(message_of(check_weights(spec, {weight, bias})), {"weight[1] is nan", "finite"}));
    weight[1] = 2, bias[0] = std::numeric_limits<float>::infinity();
    CHECK(mentions(message_of(check_weights(spec, {weight, bias})), {"bias[0] is inf"}));

    ModelSpec unbiased = spec;
    unbiased.bias = false;
    CHECK(message_of(check_weights(unbiased, {weight, {}})).empty());
    CHECK(mentions(message_of(check_weights(unbiased, {weight, bias})), {"bias = false"}));
}

TEST_CASE("the geometry is PyTorch's") {
    CHECK(convolved_size(headline, {1, 384, 384}) == Size2{382});
    CHECK(pooled_size(headline, {1, 384, 384}) == Size2{95});
    const ModelSpec odd{.in_channels = 1,
                        .out_channels = 1,
                        .kernel_size = {3, 5},
                        .pool_kernel_size = {2, 3},
                        .stride = {2, 1},
                        .padding = {1, 2},
                        .dilation = {2, 1}};
    CHECK(convolved_size(odd, {1, 20, 21}) == Size2{9, 21});  // (20 + 2 − 4 − 1) / 2 + 1, (21 + 4 − 4 − 1) + 1
    CHECK(pooled_size(odd, {1, 20, 21}) == Size2{4, 7});
    CHECK(window_size(odd) == Size2{7, 7});
}
