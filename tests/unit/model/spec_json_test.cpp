// SPDX-License-Identifier: Apache-2.0
#include "model/spec_json.hpp"

#include <map>

#include "support/catch.hpp"

using namespace kiln;

namespace {

ModelSpec every_field_set() {
    return {.in_channels = 3,
            .out_channels = 65,
            .kernel_size = {3, 5},
            .pool_kernel_size = {2, 4},
            .stride = {1, 2},
            .padding = {0, 1},
            .dilation = {2, 1},
            .bias = false,
            .activation = Activation::identity,
            .math = Math::tf32,
            .expected = Shape{.batch = 4, .height = 32, .width = 33}};
}

std::string message_of(const std::string& text) {
    const auto spec = spec_from_json_text(text);
    return spec ? "accepted" : spec.error().message;
}

}  // namespace

TEST_CASE("a spec comes back from its JSON as it was") {
    const ModelSpec defaults{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4};
    for (const ModelSpec& spec : {defaults, every_field_set()}) {
        const auto back = spec_from_json_text(spec_to_json(spec).dump());
        REQUIRE(back);
        CHECK(*back == spec);
    }
}

// Entries on disk hold this text: a change here means that the format's version has to change too.
TEST_CASE("the canonical text has every field in a fixed order, and not what to tune for") {
    const ModelSpec defaults{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4};
    CHECK(to_json_text(defaults) ==
          R"({"in_channels":8,"out_channels":64,"kernel_size":3,"pool_kernel_size":4,"stride":1,"padding":0,"dilation":1,)"
          R"("bias":true,"activation":"sigmoid","math":"fp32"})");
    CHECK(to_json_text(every_field_set()) ==
          R"({"in_channels":3,"out_channels":65,"kernel_size":[3,5],"pool_kernel_size":[2,4],"stride":[1,2],"padding":[0,1],)"
          R"("dilation":[2,1],"bias":false,"activation":"identity","math":"tf32"})");
}

TEST_CASE("a size is one number or two, and fields with a default may be left out") {
    const auto spec = spec_from_json_text(
        R"({"in_channels": 1, "out_channels": 2, "kernel_size": [3, 5], "pool_kernel_size": 4, "expected": null})");
    REQUIRE(spec);
    CHECK(*spec == ModelSpec{.in_channels = 1, .out_channels = 2, .kernel_size = {3, 5}, .pool_kernel_size = 4});
}

TEST_CASE("a bad field is named with its value and what is allowed") {
    const auto with = [](const std::string& field) {
        return R"({"in_channels": 1, "out_channels": 2, "kernel_size": 3, "pool_kernel_size": 4, )" + field + "}";
    };
    const std::map<std::string, std::string> cases{
        {"[]", "spec is []; an object is allowed"},
        {R"({"in_channels": 1, "kernel_size": 3})", "spec has no field 'out_channels', which is required"},
        {with(R"("stride": "2")"), "spec has field 'stride' = \"2\"; allowed is an integer or [height, width]"},
        {with(R"("stride": [1, 2, 3])"), "spec has field 'stride' = [1,2,3]; allowed is an integer or [height, width]"},
        {with(R"("stride": [1, 2.5])"), "spec has field 'stride' = 2.5; allowed is an integer of 64 bits"},
        {with(R"("stride": 1.0)"), "spec has field 'stride' = 1.0; allowed is an integer of 64 bits"},
        {with(R"("padding": 9223372036854775808)"),
         "spec has field 'padding' = 9223372036854775808; allowed is an integer of 64 bits"},
        {with(R"("padding": true)"), "spec has field 'padding' = true; allowed is an integer or [height, width]"},
        {with(R"("bias": 1)"), "spec has field 'bias' = 1; allowed is true or false"},
        {with(R"("activation": "relu")"), "spec has field 'activation' = \"relu\"; allowed is \"sigmoid\" or \"identity\""},
        {with(R"("activation": null)"), "spec has field 'activation' = null; allowed is \"sigmoid\" or \"identity\""},
        {with(R"("math": "fp16")"), "spec has field 'math' = \"fp16\"; allowed is \"fp32\" or \"tf32\""},
        {with(R"("expected": [1, 2, 3])"), "spec: field 'expected' is [1,2,3]; an object is allowed"},
        {with(R"("expected": {"batch": 1, "height": 2})"), "spec: field 'expected' has no field 'width', which is required"},
        {with(R"("expected": {"batch": 1, "height": 2, "width": 3, "depth": 4})"),
         "spec: field 'expected' has an unknown field \"depth\" = 4; allowed are batch, height, width"},
        {with(R"("kernel": 3)"),
         "spec has an unknown field \"kernel\" = 3; allowed are in_channels, out_channels, kernel_size, pool_kernel_size, "
         "stride, "
         "padding, dilation, bias, activation, math, expected"},
        {with(R"("bias": true, "bias": true)"), "spec is not accepted: the key \"bias\" appears twice in one object"},
    };
    for (const auto& [text, message] : cases) {
        INFO(text);
        CHECK(message_of(text) == message);
    }
}

TEST_CASE("the first bad field is the one that is named") {
    CHECK(message_of(R"({"in_channels": "1", "out_channels": "2", "kernel_size": 3, "pool_kernel_size": 4})") ==
          "spec has field 'in_channels' = \"1\"; allowed is an integer of 64 bits");
}

TEST_CASE("a file of specs is an array, and a bad one is named by its place") {
    const std::string good = R"({"in_channels": 1, "out_channels": 2, "kernel_size": 3, "pool_kernel_size": 4})";
    const auto specs = specs_from_json_text("[" + good + "," + good + "]", "specs.json");
    REQUIRE(specs);
    CHECK(specs->size() == 2);

    const auto second = specs_from_json_text("[" + good + R"(, {"in_channels": 1}])", "specs.json");
    REQUIRE_FALSE(second);
    CHECK(second.error().message == "specs.json: spec 1 has no field 'out_channels', which is required");
    CHECK(second.error().code == ErrorCode::invalid_argument);

    const auto object = specs_from_json_text(good, "specs.json");
    REQUIRE_FALSE(object);
    CHECK(object.error().message.find("specs.json is {") == 0);
    CHECK(specs_from_json_text("[", "specs.json").error().code == ErrorCode::bad_file);
}

TEST_CASE("enumerations go by their names") {
    CHECK(activation_named("identity") == Activation::identity);
    CHECK_FALSE(activation_named("Identity"));
    CHECK(math_named("tf32") == Math::tf32);
    CHECK(name_of(Activation::sigmoid) == "sigmoid");
    CHECK(name_of(Math::fp32) == "fp32");
}
