// SPDX-License-Identifier: Apache-2.0
#include "driver/cubin.hpp"

#include "driver/arch_table.hpp"
#include "jit/compiler.hpp"
#include "real_nvrtc.hpp"
#include "support/catch.hpp"

using namespace kiln;
using kiln::test::real_nvrtc;
using kiln::test::small_kernel;

TEST_CASE("a cubin of this NVRTC tells its arch, registers, memory and toolchain, for every arch") {
    const auto nvrtc = real_nvrtc();
    REQUIRE_FALSE(nvrtc.supported_archs().empty());
    for (const Arch& arch : nvrtc.supported_archs()) {
        INFO(arch.name());
        const auto compiled = jit::compile(arch, small_kernel);
        REQUIRE(compiled);
        const auto info = driver::inspect_cubin(compiled->cubin, jit::kernel_name);
        REQUIRE(info);
        CHECK(info->arch == arch.name());
        CHECK(info->registers >= 6);
        CHECK(info->registers <= 32);
        CHECK(info->local_bytes == 0);
        CHECK(info->static_shared_bytes == 1200);
        // All of it where there is a note, CUDA's version at least.
        CHECK(info->toolchain.rfind(nvrtc.version(), 0) == 0);
    }
}

TEST_CASE("local memory shows in a real cubin") {
    const auto nvrtc = real_nvrtc();
    const auto compiled = jit::compile(nvrtc.supported_archs().front(), R"(
extern "C" __global__ void kiln_forward(const int* x, int* y, int n) {
    int local[40];
    for (int i = 0; i < n; ++i) local[x[i] % 40] = x[i + 1];
    *y = local[n % 40];
})");
    REQUIRE(compiled);
    CHECK(driver::inspect_cubin(compiled->cubin, jit::kernel_name).value().local_bytes == 160);
}

TEST_CASE("a real cubin that is cut anywhere is refused") {
    const auto nvrtc = real_nvrtc();
    const auto compiled = jit::compile(nvrtc.supported_archs().front(), small_kernel);
    REQUIRE(compiled);
    for (std::size_t length = 0; length < compiled->cubin.size(); length += 7) {
        INFO(length);
        const Bytes cut(compiled->cubin.begin(), compiled->cubin.begin() + static_cast<std::ptrdiff_t>(length));
        CHECK_FALSE(driver::inspect_cubin(cut, jit::kernel_name));
    }
}
