// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <thread>

#include "jit/compiler.hpp"
#include "real_nvrtc.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/sanitized.hpp"

using namespace kiln;
using kiln::test::real_nvrtc;
using kiln::test::run_forked;
using kiln::test::small_kernel;

namespace {

int compile_once(const Arch& arch) {
    const auto compiled = jit::compile(arch, small_kernel);
    if (!compiled) std::puts(compiled.error().message.c_str());
    return compiled ? 0 : 1;
}

/// Takes NVRTC a good part of a second.
std::string slow_kernel() {
    std::string source = "extern \"C\" __global__ void kiln_forward(float* y, int n) {\n    float a = y[0], b = y[1];\n";
    for (int i = 0; i < 700; ++i) source += "    a = a * b + __sinf(b + " + std::to_string(i) + "); b = n > a ? b * a : b - a;\n";
    return source + "    y[n] = a + b;\n}\n";
}

}  // namespace

TEST_CASE("a child compiles where the parent has not, and where it has") {
    kiln::test::ChildResult child = run_forked([] { return jit::describe_nvrtc() ? compile_once(Arch::sm_90a) : 77; });
    const Arch arch = real_nvrtc().supported_archs().front();
    INFO(child.output);
    CHECK(child.status == 0);
    REQUIRE(compile_once(arch) == 0);
    child = run_forked([&] { return compile_once(arch); });
    INFO(child.output);
    CHECK(child.status == 0);
}

// Only without a sanitizer: ASan's allocator and TSan's threads do not survive a fork while another thread is inside them.
TEST_CASE("a child that was forked in the middle of a compile compiles, and so do its threads and its children") {
    if (kiln::test::is_sanitized) kiln::test::skip("sanitizers do not survive a fork beside threads");
    const auto nvrtc = real_nvrtc();
    const Arch arch = nvrtc.supported_archs().front();
    const std::string slow = slow_kernel();
    std::atomic<bool> is_done{false};
    bool compiled = false;
    std::thread compiling([&] {
        compiled = jit::compile(arch, slow).has_value();
        is_done = true;
    });
    int forks = 0;
    for (; forks < 3 && !is_done; ++forks) {
        std::this_thread::sleep_for(std::chrono::milliseconds(37 * forks));
        if (is_done) break;
        const auto child = run_forked([&] {
            int in_thread = 1;
            std::thread([&] { in_thread = compile_once(arch); }).join();
            return in_thread + run_forked([&] { return compile_once(arch); }).status;
        });
        INFO(forks);
        INFO(child.output);
        CHECK(child.status == 0);
    }
    compiling.join();
    CHECK(compiled);
    CHECK(forks > 0);
    CHECK(compile_once(arch) == 0);
}

TEST_CASE("fork while NVRTC is being opened", "[.]") {
    bool opened = false;
    std::thread opening([&] { opened = jit::describe_nvrtc().has_value(); });
    for (int i = 0; i < 8; ++i) {
        const auto child = run_forked([] { return jit::describe_nvrtc() ? 0 : 1; });
        CHECK(child.status == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    opening.join();
    CHECK(opened);
}

TEST_CASE("a child that was forked while NVRTC was being opened opens it") {
    if (kiln::test::is_sanitized) kiln::test::skip("sanitizers do not survive a fork beside threads");
    static_cast<void>(real_nvrtc());
    const auto result = kiln::test::run_case("fork while NVRTC is being opened");
    INFO(result.output);
    CHECK(result.status == 0);
}
