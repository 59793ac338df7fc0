// SPDX-License-Identifier: Apache-2.0
#include "driver/library.hpp"

#include <array>
#include <cstring>

#include "driver/errors.hpp"
#include "fake_gpu.hpp"
#include "support/child_process.hpp"
#include "support/cubin_builder.hpp"

using namespace kiln;
using namespace kiln::driver;
using kiln::test::build_cubin;
using kiln::test::CubinFacts;
using kiln::test::FakeGpu;

namespace {

LoadedLibrary load(const FakeGpu& gpu, const CubinFacts& facts = {}) {
    auto library = LoadedLibrary::load(gpu.context(), build_cubin(facts));
    REQUIRE(library);
    return std::move(*library);
}

}  // namespace

TEST_CASE("a cubin is loaded, its kernel described, and unloaded") {
    const FakeGpu gpu;
    {
        LoadedLibrary first = load(gpu, {.registers = 72, .local_bytes = 8, .static_shared_bytes = 256});
        const LoadedLibrary library = std::move(first);
        const auto kernel = library.kernel("kiln_forward");
        REQUIRE(kernel);
        CHECK(kernel->attributes().registers == 72);
        CHECK(kernel->attributes().local_bytes == 8);
        CHECK(kernel->attributes().static_shared_bytes == 256);
        CHECK(kernel->attributes().maximum_threads == 910);
        CHECK(library.kernel("another").error().native_code == CUDA_ERROR_NOT_FOUND);
    }
    CHECK(fake_cuda::counters().libraries_unloaded == 1);
}

TEST_CASE("an image that the driver refuses is told from running out of memory, at whichever call it notices") {
    const FakeGpu gpu;
    for (const char* call : {"cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction"}) {
        for (const int result : {200, 209, 222, 2}) {
            fake_cuda::fail(fmt::format("{}={}", call, result));
            auto library = LoadedLibrary::load(gpu.context(), build_cubin());
            const Failure failure = library ? library->kernel("kiln_forward").error() : library.error();
            INFO(failure.message);
            CHECK(failure.native_code == result);
            CHECK(is_refused_image(failure) == (result != 2));
            CHECK((failure.code == ErrorCode::out_of_memory) == (result == 2));
            fake_cuda::fail("");
        }
    }
}

TEST_CASE("bytes that are no cubin, and one for another arch, are refused as images") {
    const FakeGpu gpu;
    const std::array<std::byte, 64> nonsense{};
    CHECK(is_refused_image(LoadedLibrary::load(gpu.context(), nonsense).error()));
    CHECK(is_refused_image(load(gpu, {.arch_number = 80, .arch_suffix = ""}).kernel("kiln_forward").error()));
}

TEST_CASE("a launch carries its shape and its parameter") {
    const FakeGpu gpu;
    const LoadedLibrary library = load(gpu, {.parameter_bytes = 16});
    const auto kernel = library.kernel("kiln_forward");
    REQUIRE(kernel);
    const auto guard = gpu.context().enter();
    const std::array<std::uint64_t, 2> parameter{0x1122334455667788, 42};
    REQUIRE(kernel->launch({.blocks = 7, .threads = 128, .dynamic_shared_bytes = 1024}, nullptr, &parameter));
    REQUIRE(
        kernel->launch({.blocks = 8, .threads = 32, .dynamic_shared_bytes = 0, .blocks_per_cluster = 4}, nullptr, &parameter));
    REQUIRE(kernel->launch({.blocks = 8, .threads = 32, .blocks_per_cluster = 2, .may_start_early = true}, nullptr, &parameter));
    REQUIRE(kernel->launch({.blocks = 8, .threads = 32, .may_start_early = true}, nullptr, &parameter));
    const auto launches = fake_cuda::launches();
    REQUIRE(launches.size() == 4);
    CHECK(launches[0].grid[0] == 7);
    CHECK(launches[0].block[0] == 128);
    CHECK(launches[0].dynamic_shared_bytes == 1024);
    CHECK(launches[0].blocks_per_cluster == 1);
    REQUIRE(launches[0].parameters.size() == 16);
    CHECK(std::memcmp(launches[0].parameters.data(), parameter.data(), 16) == 0);
    CHECK(launches[1].blocks_per_cluster == 4);
    CHECK((!launches[0].may_start_early && !launches[1].may_start_early));
    CHECK((launches[2].may_start_early && launches[2].blocks_per_cluster == 2));
    CHECK((launches[3].may_start_early && launches[3].blocks_per_cluster == 1));
}

TEST_CASE("a refused launch tells its shape") {
    const FakeGpu gpu;
    const LoadedLibrary library = load(gpu);
    const auto kernel = library.kernel("kiln_forward");
    REQUIRE(kernel);
    const auto guard = gpu.context().enter();
    fake_cuda::fail("cuLaunchKernel=719");
    const std::array<std::byte, 64> parameter{};
    const auto launched = kernel->launch({.blocks = 7, .threads = 128}, nullptr, &parameter);
    REQUIRE_FALSE(launched);
    CHECK(launched.error().code == ErrorCode::driver_failure);
    CHECK(launched.error().message.find("launching 7 blocks of 128 threads on GPU 0: CUDA_ERROR_LAUNCH_FAILED") == 0);
}

TEST_CASE("dynamic shared memory is allowed up to the device's limit less the static part") {
    const FakeGpu gpu;
    const LoadedLibrary library = load(gpu, {.static_shared_bytes = 1000});
    const auto kernel = library.kernel("kiln_forward");
    REQUIRE(kernel);
    const auto guard = gpu.context().enter();
    const std::array<std::byte, 64> parameter{};
    const LaunchShape large{.blocks = 1, .threads = 32, .dynamic_shared_bytes = 100 * 1024};
    CHECK_FALSE(kernel->launch(large, nullptr, &parameter));  // not before it is allowed
    const int most = 227 * 1024 - 1000;
    CHECK(kernel->allow_dynamic_shared_bytes(most));
    CHECK(kernel->launch(large, nullptr, &parameter));
    const auto refused = kernel->allow_dynamic_shared_bytes(most + 1);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("allows 232448 per block, of which 1000 are static") != std::string::npos);
    CHECK_FALSE(kernel->allow_dynamic_shared_bytes(-1));
    fake_cuda::fail("cuFuncSetAttribute=1");
    CHECK(kernel->allow_dynamic_shared_bytes(1024).error().native_code == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("the driver says how many blocks run at once") {
    const FakeGpu gpu;
    const LoadedLibrary library = load(gpu, {.registers = 64});
    const auto kernel = library.kernel("kiln_forward");
    REQUIRE(kernel);
    const auto guard = gpu.context().enter();
    CHECK(kernel->blocks_per_multiprocessor(256, 0).value() == 4);
    CHECK(kernel->blocks_per_multiprocessor(256, 100 * 1024).value() == 2);
    CHECK_FALSE(kernel->blocks_per_multiprocessor(2048, 0));
}

TEST_CASE("load, and let the driver shut down", "[.]") {
    const auto context = Context::retain(0);
    REQUIRE(context);
    auto library = LoadedLibrary::load(*context, build_cubin());
    REQUIRE(library);
    fake_cuda::fail("*=4");
}

TEST_CASE("a library that outlives the driver says nothing") {
    const auto result = kiln::test::run_case("load, and let the driver shut down", {{"KILN_LOG", "trace"}});
    CHECK(result.status == 0);
    CHECK(result.output.find("warning") == std::string::npos);
}
