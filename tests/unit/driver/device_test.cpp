// SPDX-License-Identifier: Apache-2.0
#include "driver/device.hpp"

#include "fake_cuda.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"

using namespace kiln;
using kiln::test::run_case;

TEST_CASE("a GPU is described once per process") {
    const auto found = driver::device(0);
    REQUIRE(found);
    const driver::Device& gpu = **found;
    CHECK(gpu.ordinal == 0);
    CHECK(gpu.name == "Fake GPU 0");
    CHECK(gpu.uuid == "GPU-fafafafa-fafa-fafa-fafa-fafafafafa00");
    CHECK(gpu.major == 9);
    CHECK(gpu.minor == 0);
    CHECK(driver::arch_of(gpu).value() == Arch::sm_90a);
    CHECK(gpu.multiprocessors == 132);
    CHECK(gpu.shared_bytes_per_block == 227 * 1024);
    CHECK(gpu.memory_bytes == std::size_t{16} << 30U);
    CHECK(gpu.has_memory_pools);

    fake_cuda::reset();
    CHECK(driver::device(0).value() == *found);
    CHECK(fake_cuda::counters().calls == 0);
}

TEST_CASE("a GPU that is not there is refused with how many there are") {
    for (const int ordinal : {1, -1, 1 << 30}) {
        const auto found = driver::device(ordinal);
        REQUIRE_FALSE(found);
        CHECK(found.error().code == ErrorCode::no_device);
        CHECK(found.error().message == fmt::format("there is no GPU {}: the driver has one, GPU 0", ordinal));
    }
}

TEST_CASE("count three GPUs", "[.]") {
    CHECK(driver::device_count().value() == 3);
    CHECK(driver::device(2).value()->name == "Fake GPU 2");
    CHECK(driver::device(2).value()->uuid == "GPU-fafafafa-fafa-fafa-fafa-fafafafafa02");
    CHECK(driver::device(3).error().message.find("GPUs 0 to 2") != std::string::npos);
}
TEST_CASE("count no GPU", "[.]") {
    CHECK(driver::device_count().value() == 0);
}
TEST_CASE("count without a driver", "[.]") {
    CHECK(driver::device_count().error().code == ErrorCode::no_driver);
}

TEST_CASE("GPUs are counted, and none is not an error") {
    CHECK(run_case("count three GPUs", {{"FAKE_CUDA_DEVICES", "3"}}).status == 0);
    CHECK(run_case("count no GPU", {{"FAKE_CUDA_DEVICES", "0"}}).status == 0);
    CHECK(run_case("count without a driver", {{"KILN_CUDA_LIBRARY", "/nonexistent"}}).status == 0);
}

TEST_CASE("describe an old GPU", "[.]") {
    const auto found = driver::device(0);
    REQUIRE(found);
    CHECK_FALSE((*found)->arch);
    const auto arch = driver::arch_of(**found);
    CHECK(arch.error().code == ErrorCode::unsupported_arch);
    CHECK(arch.error().message.find("Fake GPU 0") != std::string::npos);
    CHECK(arch.error().message.find("7.0") != std::string::npos);
}

TEST_CASE("a GPU that Kiln has no arch for is described, and its arch refused by name") {
    CHECK(run_case("describe an old GPU", {{"FAKE_CUDA_CAPABILITY", "7.0"}}).status == 0);
}

TEST_CASE("describe a refusing GPU", "[.]") {
    const auto found = driver::device(0);
    REQUIRE_FALSE(found);
    CHECK(found.error().message.find("asking about GPU 0: CUDA_ERROR_INVALID_VALUE") == 0);
    CHECK(driver::device(0));  // a failure is not remembered
}

TEST_CASE("a GPU that does not answer is an error, tried again at the next call") {
    CHECK(run_case("describe a refusing GPU", {{"FAKE_CUDA_FAIL", "cuDeviceGetAttribute#3=1"}}).status == 0);
}
