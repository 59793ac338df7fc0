// SPDX-License-Identifier: Apache-2.0
// Warming with the real NVRTC and no driver.
#include <kiln/warm.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "driver/driver.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

const ModelSpec small{.in_channels = 2, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = 2};
const ModelSpec other{.in_channels = 3, .out_channels = 2, .kernel_size = 1, .pool_kernel_size = 1, .bias = false};
const ModelSpec invalid{.in_channels = 0, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = 2};

}  // namespace

TEST_CASE("a warm compiles what is missing, and the next one finds it on disk") {
    const TemporaryDirectory directory;
    const WarmOptions options{.cache = {.directory = directory.path()}};
    const auto first = warm({small, other}, {Arch::sm_80, Arch::sm_90a}, options);
    REQUIRE(first.size() == 4);
    for (std::size_t index = 0; index < 4; ++index) {
        INFO((first[index].error ? first[index].error->what() : ""));
        CHECK_FALSE(first[index].error);
        CHECK(first[index].on_disk);
        CHECK(first[index].kernel.origin == Origin::compiled);
        CHECK(first[index].kernel.registers > 0);
        CHECK(first[index].kernel.spilled_bytes == 0);
        CHECK(first[index].spec == (index < 2 ? small : other));
        CHECK(first[index].arch == (index % 2 == 0 ? Arch::sm_80 : Arch::sm_90a));
    }
    for (const WarmReport& report : warm({small, other}, {Arch::sm_80, Arch::sm_90a}, options)) {
        CHECK(report.on_disk);
        CHECK(report.kernel.origin != Origin::compiled);
        CHECK(report.kernel.compile_ms == 0);
    }
}

TEST_CASE("one that fails does not stop the rest") {
    const TemporaryDirectory directory;
    const auto reports = warm({invalid, small}, {Arch::sm_90a}, {.cache = {.directory = directory.path()}});
    REQUIRE(reports.size() == 2);
    REQUIRE(reports[0].error);
    CHECK(reports[0].error->code() == ErrorCode::invalid_argument);
    CHECK_FALSE(reports[1].error);
}

TEST_CASE("a dry run names keys, hits and misses, and writes nothing") {
    const TemporaryDirectory directory;
    WarmOptions options{.cache = {.directory = directory.path()}, .dry_run = true};
    const auto planned = warm({other}, {Arch::sm_75}, options);
    CHECK(planned[0].kernel.key.size() == 32);
    CHECK_FALSE(planned[0].on_disk);
    CHECK_FALSE(planned[0].kernel.miss_reason.empty());
    CHECK(std::filesystem::is_empty(directory.path()));
    options.dry_run = false;
    const auto warmed = warm({other}, {Arch::sm_75}, options);
    CHECK(warmed[0].kernel.key == planned[0].kernel.key);
    options.dry_run = true;
    CHECK(warm({other}, {Arch::sm_75}, options)[0].kernel.origin == Origin::memory);
}

TEST_CASE("a kernel that is not on disk afterwards is an error") {
    const auto reports = warm({small}, {Arch::sm_90a}, {.cache = {.mode = CacheMode::off}});
    CHECK_FALSE(reports[0].on_disk);
    CHECK(reports[0].error);
}

TEST_CASE("progress is told once per kernel, and a stop leaves the rest") {
    const TemporaryDirectory directory;
    std::stop_source stop;
    std::vector<std::size_t> done;
    WarmOptions options{.jobs = 1, .cache = {.directory = directory.path()}};
    options.stop = stop.get_token();
    options.progress = [&](const WarmReport&, std::size_t now, std::size_t total) {
        CHECK(total == 3);
        done.push_back(now);
        stop.request_stop();
    };
    const auto reports = warm({small}, {Arch::sm_75, Arch::sm_80, Arch::sm_86}, options);
    CHECK(done == std::vector<std::size_t>{1, 2, 3});
    CHECK_FALSE(reports[0].stopped);
    CHECK(reports[1].stopped);
    CHECK(reports[2].stopped);
}

TEST_CASE("what progress throws comes out of the warm") {
    const TemporaryDirectory directory;
    WarmOptions options{.cache = {.directory = directory.path()}};
    options.progress = [](const WarmReport&, std::size_t, std::size_t) { throw std::runtime_error("enough"); };
    const std::vector<ModelSpec> specs{{.in_channels = 1, .out_channels = 1, .kernel_size = 1, .pool_kernel_size = 1},
                                       {.in_channels = 2, .out_channels = 1, .kernel_size = 1, .pool_kernel_size = 1}};
    CHECK_THROWS_AS(warm(specs, {Arch::sm_80}, options), std::runtime_error);
}

TEST_CASE("jobs below zero are refused") {
    CHECK_THROWS_AS(warm({small}, {Arch::sm_90a}, {.jobs = -1}), Error);
}
