// SPDX-License-Identifier: Apache-2.0
// For tools/mutation-check, which runs this over its broken kernels: one that does not compile would make every test fail, and
// show nothing.
#include <cstdlib>

#include "driver/cubin.hpp"
#include "jit/compiler.hpp"
#include "jit/nvrtc.hpp"
#include "model/planner.hpp"
#include "model/specialisation.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

using namespace kiln;

TEST_CASE("every family's kernel compiles from the templates in use, or that of KILN_TEST_FAMILY alone") {
    if (const auto nvrtc = jit::describe_nvrtc(); !nvrtc) test::skip(nvrtc.error().message);
    const ModelSpec headline{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4};
    const ModelSpec padded{
        .in_channels = 3, .out_channels = 5, .kernel_size = 3, .pool_kernel_size = 2, .stride = 2, .padding = 1};
    const ModelSpec wide{.in_channels = 8, .out_channels = 72, .kernel_size = 3, .pool_kernel_size = 2};  // hopper_shift's
    const char* const only = std::getenv("KILN_TEST_FAMILY");
    int compiled_kernels = 0;
    for (const Family* family : all_families()) {
        if (only != nullptr && family->name() != only) continue;
        for (const ModelSpec& spec : {headline, padded, wide}) {
            const auto candidates = family->candidates(spec, Arch::sm_90a);
            if (candidates.empty()) continue;
            INFO(family->name());
            const auto source = specialised_source(spec, {family, candidates.front()});
            REQUIRE(source);
            const auto compiled = jit::compile(Arch::sm_90a, *source);
            if (!compiled) FAIL(compiled.error().message << "\n" << compiled.error().log);
            ++compiled_kernels;
        }
    }
    CHECK(compiled_kernels >= 1);
}
