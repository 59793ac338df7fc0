// SPDX-License-Identifier: Apache-2.0
// A program of somebody else's: every part of the library is reached once, with or without a GPU.
#include <cmath>
#include <cstdio>
#include <vector>

#include <kiln/kiln.hpp>

namespace {

int failures = 0;

void expect(bool condition, const char* what) {
    if (!condition) {
        std::printf("failed: %s\n", what);
        ++failures;
    }
}

const kiln::ModelSpec spec{.in_channels = 1, .out_channels = 2, .kernel_size = 1, .pool_kernel_size = 2};
const std::vector<float> weight{1.0f, -1.0f};
const std::vector<float> bias{0.0f, 0.0f};
const kiln::Shape shape{.batch = 1, .height = 2, .width = 2};

void errors_cross_the_library() {
    try {
        kiln::validate(kiln::ModelSpec{});
        expect(false, "an empty spec is refused");
    } catch (const kiln::Error& error) {
        expect(error.code() == kiln::ErrorCode::invalid_argument, "the error has its code");
    }
}

void the_reference_computes() {
    const std::vector<float> input{1.0f, 2.0f, 3.0f, 6.0f};  // the mean is 3, and σ(3) + σ(-3) = 1
    const std::vector<double> sums = kiln::reference(spec, {weight, bias}, input, shape);
    expect(sums.size() == 1 && std::abs(sums[0] - 1.0) < 1e-12, "the reference gives σ(3) + σ(-3)");
}

void a_warm_is_planned() {
    const kiln::WarmOptions options{.cache = {.mode = kiln::CacheMode::off}, .dry_run = true};
    const auto reports = kiln::warm({spec}, {kiln::Arch::sm_90a, kiln::Arch::parse("sm_80")}, options);
    expect(reports.size() == 2 && !reports[0].kernel.key.empty(), "a dry run gives a key for each arch");
}

void a_model_is_built_or_says_why_not() {
    try {
        const kiln::Model model(spec, {weight, bias}, {.device = 0, .cache = {.mode = kiln::CacheMode::off}});
        expect(!model.kernel().family.empty(), "the model reports its kernel");
    } catch (const kiln::Error& error) {
        std::printf("no model here: %s (%s)\n", error.what(), std::string(kiln::to_string(error.code())).c_str());
        expect(error.code() == kiln::ErrorCode::no_driver || error.code() == kiln::ErrorCode::no_device,
               "without a GPU the error says so");
    }
}

}  // namespace

int main() {
    kiln::set_log_level(kiln::LogLevel::warning);
    errors_cross_the_library();
    the_reference_computes();
    a_warm_is_planned();
    a_model_is_built_or_says_why_not();
    return failures == 0 ? 0 : 1;
}
