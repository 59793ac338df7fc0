// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "driver/cubin.hpp"
#include "jit/compiler.hpp"
#include "jit/nvrtc.hpp"
#include "model/planner.hpp"
#include "model/specialisation.hpp"
#include "support/benchmark_shapes.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

struct NamedSpec {
    std::string name;
    ModelSpec spec;
};

/// The shapes that Kiln is measured on, each tuned for its own.
std::vector<NamedSpec> benchmark_specs() {
    std::vector<NamedSpec> specs;
    for (const BenchmarkShape& benchmark : benchmark_shapes()) {
        specs.push_back({benchmark.name, benchmark.spec});
        specs.back().spec.expected = benchmark.shape;
    }
    return specs;
}

/// The same with one product of TF32, for the families that have it.
std::vector<NamedSpec> tf32_specs() {
    std::vector<NamedSpec> specs = benchmark_specs();
    for (NamedSpec& each : specs) {
        each.name += " in tf32";
        each.spec.math = Math::tf32;
    }
    return specs;
}

/// What a template that was only tried on round numbers does not survive.
std::vector<NamedSpec> odd_specs() {
    return {
        {"one of everything", {.in_channels = 1, .out_channels = 1, .kernel_size = 1, .pool_kernel_size = 1}},
        {"one filter", {.in_channels = 16, .out_channels = 1, .kernel_size = 3, .pool_kernel_size = 2, .padding = 1}},
        {"three filters", {.in_channels = 5, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = 2}},
        {"65 filters", {.in_channels = 5, .out_channels = 65, .kernel_size = 3, .pool_kernel_size = 2, .padding = 1}},
        {"300 filters", {.in_channels = 4, .out_channels = 300, .kernel_size = 3, .pool_kernel_size = 2}},
        {"513 channels", {.in_channels = 513, .out_channels = 65, .kernel_size = 3, .pool_kernel_size = 2}},
        {"kernel and pool of 7", {.in_channels = 64, .out_channels = 72, .kernel_size = 7, .pool_kernel_size = 7, .padding = 3}},
        {"one channel of 7x7", {.in_channels = 1, .out_channels = 200, .kernel_size = 7, .pool_kernel_size = 2}},
        {"513 channels of 7x7", {.in_channels = 513, .out_channels = 5, .kernel_size = 7, .pool_kernel_size = 2}},
        {"even kernel", {.in_channels = 2, .out_channels = 9, .kernel_size = {4, 2}, .pool_kernel_size = {2, 5}}},
        {"kernel of 11",
         {.in_channels = 3, .out_channels = 24, .kernel_size = 11, .pool_kernel_size = 4, .stride = 4, .padding = 2}},
        {"prime kernel of 23", {.in_channels = 2, .out_channels = 10, .kernel_size = 23, .pool_kernel_size = 2}},
        {"row kernel of 40", {.in_channels = 2, .out_channels = 10, .kernel_size = {1, 40}, .pool_kernel_size = 2}},
        {"pool of 384", {.in_channels = 2, .out_channels = 3, .kernel_size = 7, .pool_kernel_size = 384}},
        {"pool of 1x384", {.in_channels = 2, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = {1, 384}}},
        {"pool of 16", {.in_channels = 3, .out_channels = 10, .kernel_size = 3, .pool_kernel_size = 16}},
        {"stride and padding",
         {.in_channels = 6, .out_channels = 33, .kernel_size = 3, .pool_kernel_size = 2, .stride = 2, .padding = 1}},
        {"stride past the kernel", {.in_channels = 4, .out_channels = 7, .kernel_size = 2, .pool_kernel_size = 2, .stride = 50}},
        {"dilation",
         {.in_channels = 3,
          .out_channels = 12,
          .kernel_size = 3,
          .pool_kernel_size = 3,
          .stride = 2,
          .padding = 2,
          .dilation = 3}},
        {"large dilation", {.in_channels = 3, .out_channels = 12, .kernel_size = 3, .pool_kernel_size = 4, .dilation = 100}},
        {"rectangles",
         {.in_channels = 7,
          .out_channels = 48,
          .kernel_size = {1, 5},
          .pool_kernel_size = {3, 2},
          .stride = {2, 1},
          .padding = {0, 2},
          .dilation = {1, 2}}},
        {"identity without bias",
         {.in_channels = 8,
          .out_channels = 64,
          .kernel_size = 3,
          .pool_kernel_size = 4,
          .bias = false,
          .activation = Activation::identity}},
    };
}

/// The best plan of each family.
void check_compiles(const Arch& arch, const NamedSpec& named) {
    std::set<const Family*> seen;
    for (const Plan& plan : enumerate_plans(named.spec, arch)) {
        if (!seen.insert(plan.family).second) continue;
        if (named.spec.math == Math::tf32 && !plan.family->uses_tf32()) continue;  // it computes fp32 all the same
        INFO(arch.name() << ", " << named.name << ": " << plan.family->name() << " " << to_string(plan.candidate.tile));
        const auto source = specialised_source(named.spec, plan);
        REQUIRE(source);
        const auto compiled = jit::compile(arch, *source);
        if (!compiled) FAIL(compiled.error().message << "\n" << compiled.error().log);
        const auto info = driver::inspect_cubin(compiled->cubin, jit::kernel_name);
        REQUIRE(info);
        CHECK(info->arch == arch.name());
        CHECK(info->local_bytes == 0);
        CHECK(info->registers <= 255);
    }
}

void check_all_compile(const Arch& arch) {
    const auto nvrtc = jit::describe_nvrtc();
    if (!nvrtc) skip(nvrtc.error().message);
    if (!nvrtc->supports(arch)) {
        skip(fmt::format("NVRTC {} ({}) does not know {}", nvrtc->version(), nvrtc->path, arch.name()));
    }
    for (const NamedSpec& each : benchmark_specs()) check_compiles(arch, each);
    for (const NamedSpec& each : odd_specs()) check_compiles(arch, each);
    for (const NamedSpec& each : tf32_specs()) check_compiles(arch, each);
}

}  // namespace

TEST_CASE("there are twelve benchmark shapes and twenty-two odd specs, all of them valid") {
    CHECK(benchmark_specs().size() == 12);
    CHECK(odd_specs().size() == 22);
    for (const auto& [name, spec] : benchmark_specs()) CHECK_NOTHROW(validate(spec));
    for (const auto& [name, spec] : odd_specs()) CHECK_NOTHROW(validate(spec));
}

// A case for each, so that they run side by side.
TEST_CASE("specialisations for sm_75 compile, without spills or local memory") {
    check_all_compile(Arch::sm_75);
}
TEST_CASE("specialisations for sm_80 compile, without spills or local memory") {
    check_all_compile(Arch::sm_80);
}
TEST_CASE("specialisations for sm_86 compile, without spills or local memory") {
    check_all_compile(Arch::sm_86);
}
TEST_CASE("specialisations for sm_89 compile, without spills or local memory") {
    check_all_compile(Arch::sm_89);
}
TEST_CASE("specialisations for sm_90a compile, without spills or local memory") {
    check_all_compile(Arch::sm_90a);
}
TEST_CASE("benchmark specs that were not told their shapes compile for sm_90a, without spills or local memory") {
    if (const auto nvrtc = jit::describe_nvrtc(); !nvrtc || !nvrtc->supports(Arch::sm_90a)) skip("no NVRTC that knows sm_90a");
    for (const BenchmarkShape& benchmark : benchmark_shapes()) {
        check_compiles(Arch::sm_90a, {benchmark.name + ", any shape", benchmark.spec});
    }
}
TEST_CASE("specialisations for sm_100 compile, without spills or local memory") {
    check_all_compile(Arch::sm_100);
}
TEST_CASE("specialisations for sm_120 compile, without spills or local memory") {
    check_all_compile(Arch::sm_120);
}
