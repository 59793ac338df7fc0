// SPDX-License-Identifier: Apache-2.0
// What a process that builds and drops models for ever keeps: nothing.
#include <cstdio>
#include <filesystem>
#include <iterator>

#include "driver/errors.hpp"
#include "support/catch.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"
#include "support/result.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

std::size_t free_device_bytes() {
    const auto guard = value_or_throw(device_context().enter());
    const auto& cuda = device_context().cuda();
    std::size_t free = 0;
    std::size_t total = 0;
    value_or_throw(driver::check(cuda, cuda.mem_get_info(&free, &total), "asking for the free memory"));
    return free;
}

std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// Of this process, by the kernel's count.
std::size_t mapped_bytes() {
    std::size_t pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    REQUIRE(file != nullptr);
    CHECK(std::fscanf(file, "%zu", &pages) == 1);
    std::fclose(file);
    return pages * 4096;
}

}  // namespace

TEST_CASE("10,000 models built and destroyed, their kernel loaded each time, leave nothing behind") {
    const RandomCase random =
        drawn_case({.in_channels = 8, .out_channels = 16, .kernel_size = 3, .pool_kernel_size = 2}, {2, 20, 24}, 77);
    const auto build = [&](int count) {
        for (int each = 0; each < count; ++each) {
            const Model model(random.spec, random.weights());
            if (each % 1000 == 0) CHECK_FALSE(Forward(model, random).run().empty());
        }
    };
    build(200);  // what the driver keeps for itself after its first modules
    const std::size_t free_before = free_device_bytes();
    const std::ptrdiff_t descriptors_before = open_descriptors();
    const std::size_t mapped_before = mapped_bytes();
    build(10'000);
    CHECK(open_descriptors() == descriptors_before);
    CHECK(free_device_bytes() + (std::size_t{4} << 20) >= free_before);
    CHECK(mapped_bytes() <= mapped_before + (std::size_t{64} << 20));  // 10,000 modules, or copies of the cubin, are more
}
