// SPDX-License-Identifier: Apache-2.0
#include "model/planner.hpp"

#include <algorithm>
#include <set>

#include "driver/arch_table.hpp"
#include "model/geometry.hpp"
#include "model/specialisation.hpp"
#include "model/validation.hpp"
#include "support/benchmark_shapes.hpp"
#include "support/catch.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

TEST_CASE("every spec has a plan on every arch") {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        const ModelSpec spec = random_case(seed).spec;
        for (const Arch* arch : ArchTable::all()) {
            INFO(describe(spec) << " on " << arch->name());
            CHECK(choose_plan(spec, *arch));
        }
    }
    // The extremes of what validation lets pass.
    for (const ModelSpec& spec :
         {ModelSpec{.in_channels = 1, .out_channels = 1, .kernel_size = 1, .pool_kernel_size = 1},
          ModelSpec{.in_channels = 1 << 20, .out_channels = 1, .kernel_size = 1, .pool_kernel_size = 1 << 16},
          ModelSpec{.in_channels = 1, .out_channels = 1 << 20, .kernel_size = {1, 1024}, .pool_kernel_size = 1},
          ModelSpec{.in_channels = 16, .out_channels = 4, .kernel_size = 1024, .pool_kernel_size = 3, .dilation = 1000}}) {
        REQUIRE(check_spec(spec));
        for (const Arch* arch : ArchTable::all()) CHECK(choose_plan(spec, *arch));
    }
}

TEST_CASE("the plan is a pure function of spec and arch") {
    for (const BenchmarkShape& benchmark : benchmark_shapes()) {
        const auto first = choose_plan(benchmark.spec, Arch::sm_90a);
        const auto second = choose_plan(benchmark.spec, Arch::sm_90a);
        REQUIRE((first && second));
        CHECK(first->family == second->family);
        CHECK(first->candidate.tile == second->candidate.tile);
    }
}

TEST_CASE("the plan is the candidate with the least predicted time, and no candidate is listed twice") {
    for (const BenchmarkShape& benchmark : benchmark_shapes()) {
        for (const Arch* arch : ArchTable::all()) {
            const std::vector<Plan> plans = enumerate_plans(benchmark.spec, *arch);
            REQUIRE_FALSE(plans.empty());
            std::set<std::string> names;
            for (const Plan& plan : plans) {
                CHECK(plan.candidate.predicted_us >= plans.front().candidate.predicted_us);
                CHECK(plan.candidate.predicted_us > 0);
                CHECK_FALSE(plan.candidate.limiter.empty());
                CHECK(names.insert(std::string(plan.family->name()) + to_string(plan.candidate.tile)).second);
            }
        }
    }
}

TEST_CASE("more images are predicted to take no less time") {
    for (const BenchmarkShape& benchmark : benchmark_shapes()) {
        double before = 0;
        for (const std::int64_t batch : {1, 4, 16, 64, 256, 1024}) {
            ModelSpec spec = benchmark.spec;
            spec.expected = Shape{batch, benchmark.shape.height, benchmark.shape.width};
            const double now = choose_plan(spec, Arch::sm_90a)->candidate.predicted_us;
            INFO(benchmark.name << " with " << batch << " images");
            CHECK(now >= before);
            before = now;
        }
    }
}

TEST_CASE("without its shape no benchmark spec is predicted to lose much, and one kernel serves one image and many") {
    for (const Math math : {Math::fp32, Math::tf32}) {
        for (const BenchmarkShape& benchmark : benchmark_shapes()) {
            ModelSpec untold = benchmark.spec, told = benchmark.spec;
            untold.math = told.math = math;
            told.expected = benchmark.shape;
            const Plan plan = choose_plan(untold, Arch::sm_90a).value();
            const double predicted = plan.family->predicted_us(untold, plan.candidate.tile, benchmark.shape, Arch::sm_90a);
            const double least = choose_plan(told, Arch::sm_90a)->candidate.predicted_us;
            INFO(benchmark.name << ": " << plan.family->name() << " " << to_string(plan.candidate.tile));
            // For mid hopper_shift is best by far, but with tiles so large that they leave no registers to what depends on the
            // launch; for vdeep in TF32 it is, too, but loses more at other shapes than hopper_gemm.
            const bool may_lose = benchmark.name == "mid" || (benchmark.name == "vdeep" && math == Math::tf32);
            const double most = may_lose ? 1.7 : 1.3;
            CHECK(predicted <= most * least + 1);  // µs
        }
    }
}

TEST_CASE("a column more is predicted to take at most 1.5 times as long, however the rows are aligned") {
    ModelSpec spec{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4};
    const auto predicted_us = [&](std::int64_t width) {
        spec.expected = Shape{64, 256, width};
        return choose_plan(spec, Arch::sm_90a)->candidate.predicted_us;
    };
    for (const std::int64_t padding : {0, 1}) {
        spec.padding = padding;
        // Not so where rows are narrow (64), or padded: each word is compared with the row's ends then, too.
        const double most = padding == 0 ? 1.5 : 1.8;
        for (const std::int64_t width : {96, 128, 160, 200, 256, 320, 384, 400}) {
            CAPTURE(width, padding);
            CHECK(predicted_us(width + 1) <= most * predicted_us(width));
            CHECK(predicted_us(width + 2) <= most * predicted_us(width));
        }
    }
}

TEST_CASE("tf32 is never predicted to take longer than fp32") {
    const auto check = [](ModelSpec spec) {
        const double fp32 = choose_plan(spec, Arch::sm_90a)->candidate.predicted_us;
        spec.math = Math::tf32;
        INFO(describe(spec));
        CHECK(choose_plan(spec, Arch::sm_90a)->candidate.predicted_us <= fp32 * 1.0001);
    };
    for (const BenchmarkShape& benchmark : benchmark_shapes()) {
        ModelSpec spec = benchmark.spec;
        spec.expected = benchmark.shape;
        check(spec);
    }
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        RandomCase random = random_wide_case(seed);
        random.spec.expected = random.shape;
        random.spec.math = Math::fp32;
        check(random.spec);
    }
}

TEST_CASE("a tile prints its sizes and gives them back by name") {
    const Tile tile{{"positions", 128}, {"filters", 64}};
    CHECK(to_string(tile) == "positions=128,filters=64");
    CHECK(tile_value(tile, "filters") == 64);
    CHECK_THROWS_AS(tile_value(tile, "nonsense"), std::logic_error);
}

TEST_CASE("the source's constants are the spec's and the tile's, and expected is not among them") {
    ModelSpec spec{.in_channels = 8, .out_channels = 64, .kernel_size = {3, 5}, .pool_kernel_size = 4, .padding = {1, 2}};
    const auto constants = specialisation_constants(spec, {{"positions", 128}});
    const auto value = [&](std::string_view name) { return tile_value(constants, name); };
    CHECK(value("kernel_h") == 3);
    CHECK(value("kernel_w") == 5);
    CHECK(value("padding_w") == 2);
    CHECK(value("is_sigmoid") == 1);
    CHECK(value("positions") == 128);
    spec.expected = Shape{1, 100, 100};
    CHECK(specialisation_constants(spec, {{"positions", 128}}) == constants);
}

TEST_CASE("each field of a spec changes the source") {
    const ModelSpec spec{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4};
    std::vector<ModelSpec> changed(9, spec);
    changed[0].in_channels = 9, changed[1].out_channels = 65, changed[2].kernel_size = {3, 2},
    changed[3].pool_kernel_size = {2, 4};
    changed[4].stride = 2, changed[5].padding = {0, 1}, changed[6].dilation = {1, 2}, changed[7].bias = false;
    changed[8].activation = Activation::identity;
    const auto constants = specialisation_constants(spec, {});
    for (const ModelSpec& other : changed) CHECK(specialisation_constants(other, {}) != constants);
}

TEST_CASE("what a spec is tuned for fits it") {
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        const ModelSpec spec = random_case(seed).spec;
        for (const Shape& shape : tuning_shapes(spec)) CHECK(check_shape(spec, shape));
    }
    ModelSpec spec{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4, .expected = Shape{7, 100, 200}};
    CHECK(tuning_shape(spec) == Shape{7, 100, 200});
    CHECK(tuning_shapes(spec) == std::vector<Shape>{{7, 100, 200}});
}

TEST_CASE("tf32 is said to mean fp32 wherever the family that serves it has none, and only there") {
    ModelSpec spec{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4, .math = Math::tf32};
    for (const Arch* arch : ArchTable::all()) {
        for (const Plan& plan : enumerate_plans(spec, *arch)) CHECK(plan_note(spec, plan).empty() == plan.family->uses_tf32());
    }
    CHECK(plan_note(spec, *choose_plan(spec, Arch::sm_75)).find("means fp32") != std::string::npos);
    spec.math = Math::fp32;
    CHECK(plan_note(spec, *choose_plan(spec, Arch::sm_75)).empty());
}
