// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kiln/kernel_json.hpp"
#include "kiln/output.hpp"
#include "kiln/progress.hpp"
#include "kiln/random_data.hpp"
#include "support/catch.hpp"

using namespace kiln;
using namespace kiln::tools;

TEST_CASE("a table's columns line up, also where characters take several bytes") {
    CHECK(table_text({{"a", "b"}, {"3→64", "x"}, {"longer", "y"}}) == "a       b\n3→64    x\nlonger  y\n");
    CHECK(table_text({}).empty());
}

TEST_CASE("a line of progress fits the terminal") {
    const auto width = [](const std::string& text) {
        return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
    };
    const std::string what(200, 'w');
    for (const std::size_t columns : {1U, 10U, 30U, 40U, 80U, 200U}) {
        for (const std::size_t done : {0U, 7U, 1000U}) {
            CHECK(width(progress_line(done, 1000, what, columns)) < static_cast<std::ptrdiff_t>(columns + 1));
        }
    }
    CHECK(progress_line(5, 10, "now", 80) == "[██████████░░░░░░░░░░]   5/10  now");
    CHECK(progress_line(10, 10, "now", 80) == "[████████████████████]  10/10  now");
}

TEST_CASE("a model is named by what differs from the defaults") {
    CHECK(spec_sentence({.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4}) ==
          "8→64, kernel 3, pool 4");
    CHECK(spec_sentence({.in_channels = 8,
                         .out_channels = 64,
                         .kernel_size = {3, 5},
                         .pool_kernel_size = 4,
                         .stride = 2,
                         .padding = {0, 1},
                         .dilation = 3,
                         .bias = false,
                         .activation = Activation::identity,
                         .math = Math::tf32}) ==
          "8→64, kernel 3x5, pool 4, stride 2, padding 0x1, dilation 3, no bias, identity, tf32");
}

TEST_CASE("a kernel's facts have the names that scripts rely on") {
    const KernelReport report{.family = "simt", .arch = "sm_90a", .key = "00ff", .origin = Origin::user};
    const auto json = kernel_to_json(report);
    for (const char* name : {"key", "arch", "family", "origin", "miss_reason", "compile_ms", "load_ms", "registers",
                             "spilled_bytes", "shared_bytes", "cubin_bytes", "error"}) {
        INFO(name);
        CHECK(json.contains(name));
    }
    CHECK(json["origin"] == "user");
    CHECK(json["miss_reason"].is_null());
}

TEST_CASE("a kernel that could not be had has an error and no origin") {
    WarmReport report{
        .spec = {}, .arch = Arch::sm_80, .kernel = {}, .error = Error(ErrorCode::compile_failed, "no", 6, "the log")};
    const auto json = warm_to_json(report);
    CHECK(json["origin"].is_null());
    CHECK(json["error"]["code"] == "compile_failed");
    CHECK(json["error"]["log"] == "the log");
    CHECK(json["arch"] == "sm_80");
}

TEST_CASE("random values depend on the seed alone") {
    const auto values = normal_values(600'000, 3);
    CHECK(values == normal_values(600'000, 3));
    CHECK(values != normal_values(600'000, 4));
    double sum = 0;
    double squares = 0;
    for (const float value : values) {
        sum += value;
        squares += static_cast<double>(value) * value;
    }
    CHECK(sum / 600'000 == Approx(0).margin(0.01));
    CHECK(squares / 600'000 == Approx(1).margin(0.01));
}
