// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <kiln/error.hpp>

#include "kiln/exit_status.hpp"
#include "kiln/spec_options.hpp"
#include "support/catch.hpp"

using namespace kiln;
using namespace kiln::tools;

namespace {

ModelSpec parsed(std::vector<std::string> arguments) {
    CLI::App app;
    SpecOptions options;
    options.add_to(app, false);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(arguments);
    return options.spec();
}

std::vector<std::string> with(std::vector<std::string> more) {
    std::vector<std::string> arguments{"--in-channels", "8", "--out-channels", "64", "--kernel", "3", "--pool", "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

std::string usage_message(std::vector<std::string> more) {
    try {
        (void)parsed(with(std::move(more)));
    } catch (const CommandFailure& failure) {
        CHECK(failure.status() == ExitStatus::wrong_usage);
        return failure.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("a spec is read from the command line") {
    CHECK(parsed(with({})) == ModelSpec{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4});
    CHECK(parsed(with({"--stride", "2x1", "--padding", "1", "--dilation", "1x3", "--no-bias", "--activation", "identity",
                       "--math", "tf32", "--shape", "128,384,385"})) ==
          ModelSpec{.in_channels = 8,
                    .out_channels = 64,
                    .kernel_size = 3,
                    .pool_kernel_size = 4,
                    .stride = {2, 1},
                    .padding = 1,
                    .dilation = {1, 3},
                    .bias = false,
                    .activation = Activation::identity,
                    .math = Math::tf32,
                    .expected = Shape{.batch = 128, .height = 384, .width = 385}});
}

TEST_CASE("negative sizes are read, for the library to refuse by name") {
    CHECK(parsed(with({"--padding", "-1"})).padding == Size2(-1));
    CHECK(parsed(with({"--padding=-1x0"})).padding == Size2(-1, 0));
}

TEST_CASE("what is no size is wrong usage, with what is allowed") {
    const std::string allowed = "; it must be a size such as 3, or HEIGHTxWIDTH such as 3x5";
    for (const char* text : {"3x", "x3", "3x3x3", "3.0", "three", "3 ", "+3", "0x", "--"}) {
        INFO(text);
        CHECK(usage_message({std::string("--stride=") + text}) == std::string("--stride is '") + text + "'" + allowed);
    }
    CHECK(usage_message({"--shape", "1,2"}).find("--shape is '1,2'; it must be N,H,W") == 0);
    CHECK(usage_message({"--shape", "1,2,3,4"}).find("--shape is '1,2,3,4'; it must be N,H,W") == 0);
}

TEST_CASE("a number that 64 bits do not hold is named by its field") {
    try {
        (void)parsed(with({"--padding", "99999999999999999999"}));
        FAIL("it was accepted");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK(std::string(error.what()) == "padding is 99999999999999999999; it must be an integer of 64 bits");
    }
}

TEST_CASE("each kind of error has its status") {
    CHECK(exit_status_of(ErrorCode::invalid_argument) == ExitStatus::bad_input);
    CHECK(exit_status_of(ErrorCode::bad_file) == ExitStatus::bad_input);
    CHECK(exit_status_of(ErrorCode::no_driver) == ExitStatus::machine_lacks);
    CHECK(exit_status_of(ErrorCode::no_nvrtc) == ExitStatus::machine_lacks);
    CHECK(exit_status_of(ErrorCode::unsupported_arch) == ExitStatus::machine_lacks);
    CHECK(exit_status_of(ErrorCode::not_cached) == ExitStatus::machine_lacks);
    CHECK(exit_status_of(ErrorCode::compile_failed) == ExitStatus::compile_failed);
    CHECK(exit_status_of(ErrorCode::driver_failure) == ExitStatus::internal_fault);
}
