// SPDX-License-Identifier: Apache-2.0
// The numerics contract, image by image, in double (docs/numerics.md).
#include <cmath>
#include <string>
#include <vector>

#include "model/geometry.hpp"
#include "support/adversarial.hpp"
#include "support/benchmark_shapes.hpp"
#include "support/catch.hpp"
#include "support/contract.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

ModelSpec with_identity(ModelSpec spec) {
    spec.activation = Activation::identity;
    return spec;
}

}  // namespace

TEST_CASE("random specs meet the contract, in every family") {
    std::vector<RandomCase> cases;
    for (std::uint32_t seed = 1; seed <= 80; ++seed) cases.push_back(random_case(seed));
    check_contract_in_every_family(cases);
}

TEST_CASE("random specs of many channels and filters meet the contract, in every family") {
    std::vector<RandomCase> cases;
    for (std::uint32_t seed = 501; seed <= 560; ++seed) cases.push_back(random_wide_case(seed));
    check_contract_in_every_family(cases);
}

TEST_CASE("every legal tile of the tensor cores' families meets the contract") {
    const auto spec_of = [](std::int64_t in_channels, std::int64_t out_channels, Size2 kernel, Size2 pool) {
        return ModelSpec{
            .in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel, .pool_kernel_size = pool};
    };
    std::vector<RandomCase> cases{
        drawn_case(spec_of(64, 72, 3, 2), {3, 14, 17}, 601),           // a reduction that blocks share
        drawn_case(spec_of(24, 130, 3, 1), {2, 12, 30}, 602),          // two tiles of filters, the second nearly empty
        drawn_case(spec_of(3, 40, 7, 2), {2, 40, 300}, 603),           // rows longer than a tile
        drawn_case(spec_of(17, 20, {5, 2}, {3, 4}), {40, 8, 9}, 604),  // tiles of many images
    };
    cases[1].spec.padding = {1, 0};
    cases[2].spec.activation = Activation::identity;
    cases[3].spec.stride = {1, 2};
    for (const RandomCase& random : cases) {
        std::vector<Plan> plans;
        for (const Plan& plan : legal_plans(random.spec)) {
            if (plan.family->uses_tf32()) plans.push_back(plan);
        }
        if (plans.empty()) continue;  // an arch without such families
        compile_ahead(random.spec, plans);
        check_contract(random, plans);
    }
}

TEST_CASE("a tile made for one shape serves any other") {
    for (const Shape& expected : {Shape{1, 6, 6}, Shape{2, 30, 400}, Shape{64, 20, 20}}) {
        ModelSpec spec{.in_channels = 16, .out_channels = 24, .kernel_size = 5, .pool_kernel_size = 2};
        spec.expected = expected;
        for (const Shape& shape : {Shape{70, 6, 6}, Shape{2, 7, 700}, Shape{1, 500, 6}, Shape{3, 41, 45}, Shape{1, 20, 262}}) {
            check_contract(drawn_case(spec, shape, 611), best_plan_of_each_family(spec));
        }
    }
}

TEST_CASE("every legal tile of small specs meets the contract") {
    for (std::uint32_t seed = 301; seed <= 306; ++seed) {
        const RandomCase random = random_case(seed);
        const std::vector<Plan> plans = legal_plans(random.spec);
        compile_ahead(random.spec, plans);
        check_contract(random, plans);
    }
}

TEST_CASE("the benchmark shapes meet the contract with few images, both activations") {
    std::vector<RandomCase> cases;
    for (const BenchmarkShape& benchmark : benchmark_shapes()) {
        Shape shape = benchmark.shape;
        shape.batch = std::min<std::int64_t>(shape.batch, shape.height >= 1024 ? 1 : 3);
        for (ModelSpec spec : {benchmark.spec, with_identity(benchmark.spec)}) {
            spec.expected = benchmark.shape;
            cases.push_back(drawn_case(spec, shape, 7));
        }
    }
    check_contract_in_every_family(cases);
}

TEST_CASE("tf32 meets its own bound") {
    std::vector<RandomCase> cases;
    for (std::uint32_t seed = 401; seed <= 430; ++seed) {
        cases.push_back(random_case(seed));
        cases.back().spec.math = Math::tf32;
    }
    for (std::uint32_t seed = 441; seed <= 460; ++seed) {
        cases.push_back(random_wide_case(seed));
        cases.back().spec.math = Math::tf32;
    }
    for (const BenchmarkShape& benchmark : benchmark_shapes()) {
        if (benchmark.shape.height >= 1024) continue;
        ModelSpec spec = with_identity(benchmark.spec);
        spec.math = Math::tf32;
        cases.push_back(drawn_case(spec, {1, benchmark.shape.height, benchmark.shape.width}, 9));
    }
    check_contract_in_every_family(cases);
}

TEST_CASE("a single logit meets its bound on adversarial data") {
    // One window an image and one filter: y is the logit itself, and the batch gives many of them.
    std::vector<RandomCase> cases;
    for (const std::int64_t channels : {1, 5, 8, 64, 512}) {
        for (const std::int64_t kernel : {1, 3, 7}) {
            const ModelSpec spec{.in_channels = channels,
                                 .out_channels = 1,
                                 .kernel_size = kernel,
                                 .pool_kernel_size = 2,
                                 .activation = Activation::identity};
            const Shape shape{.batch = 24, .height = kernel + 1, .width = kernel + 1};
            RandomCase normal = drawn_case(spec, shape, 1000);
            RandomCase non_negative = normal, spread = normal, cancelling = normal;
            make_non_negative(non_negative);
            spread_magnitudes(spread, 3);
            make_cancelling(cancelling);
            for (RandomCase* each : {&normal, &non_negative, &spread, &cancelling}) cases.push_back(std::move(*each));
        }
    }
    check_contract_in_every_family(cases, Tolerance::logit_alone);
}

TEST_CASE("the sizes at the edges meet the contract") {
    struct Edge {
        ModelSpec spec;
        Shape shape;
    };
    const std::vector<Edge> edges{
        {{.in_channels = 1, .out_channels = 1, .kernel_size = 1, .pool_kernel_size = 1}, {1, 1, 1}},
        {{.in_channels = 5, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = 2}, {300, 5, 5}},   // one window an image
        {{.in_channels = 8, .out_channels = 65, .kernel_size = 3, .pool_kernel_size = 4}, {2, 45, 47}},  // a filter past the tile
        {{.in_channels = 513, .out_channels = 9, .kernel_size = 3, .pool_kernel_size = 2}, {2, 11, 9}},
        {{.in_channels = 3, .out_channels = 20, .kernel_size = 4, .pool_kernel_size = 3}, {3, 37, 50}},    // an even kernel
        {{.in_channels = 2, .out_channels = 6, .kernel_size = 7, .pool_kernel_size = 2}, {2, 40, 61}},     // K > P
        {{.in_channels = 2, .out_channels = 6, .kernel_size = 2, .pool_kernel_size = 7}, {2, 40, 61}},     // P > K
        {{.in_channels = 4, .out_channels = 8, .kernel_size = 3, .pool_kernel_size = 96}, {2, 200, 301}},  // windows past a tile
        {{.in_channels = 1, .out_channels = 2, .kernel_size = 7, .pool_kernel_size = 378}, {1, 384, 384}},
        {{.in_channels = 2, .out_channels = 4, .kernel_size = 3, .pool_kernel_size = 2}, {1, 6, 9001}},  // a long row
        {{.in_channels = 2, .out_channels = 4, .kernel_size = 3, .pool_kernel_size = 2}, {1, 9001, 6}},
        {{.in_channels = 3, .out_channels = 5, .kernel_size = {1, 9}, .pool_kernel_size = {5, 1}, .padding = {0, 4}},
         {2, 31, 33}},
        {{.in_channels = 3, .out_channels = 5, .kernel_size = 3, .pool_kernel_size = 2, .stride = 5}, {2, 41, 43}},  // gaps
        {{.in_channels = 3, .out_channels = 5, .kernel_size = 3, .pool_kernel_size = 2, .padding = 9},
         {2, 6, 6}},  // mostly padding
        {{.in_channels = 3, .out_channels = 5, .kernel_size = 3, .pool_kernel_size = 2, .dilation = 17}, {2, 40, 47}},
        {{.in_channels = 300, .out_channels = 300, .kernel_size = 1, .pool_kernel_size = 1}, {2, 9, 9}},
    };
    std::vector<RandomCase> cases;
    for (const Edge& edge : edges) {
        for (const ModelSpec& spec : {edge.spec, with_identity(edge.spec)}) cases.push_back(drawn_case(spec, edge.shape, 11));
    }
    check_contract_in_every_family(cases);
}

TEST_CASE("the largest error is within 4 units of S, or twice that of a plain fp32 loop") {
    for (const BenchmarkShape& benchmark : benchmark_shapes()) {
        const ModelSpec& full = benchmark.spec;
        const Size2 window = window_size(full);
        ModelSpec spec = with_identity(full);
        spec.out_channels = 1;
        const Shape shape{.batch = 512, .height = window.height, .width = window.width};
        compile_ahead({spec});
        for (const bool non_negative : {false, true}) {
            RandomCase random = drawn_case(spec, shape, 21);
            if (non_negative) make_non_negative(random);
            const double allowed = std::max(4.0, 2 * largest_error_in_units(random, sequential_fp32_sums(random)));
            for (const Plan& plan : best_plan_of_each_family(spec)) {
                INFO(benchmark.name << (non_negative ? ", non-negative, " : ", normal, ") << plan.family->name());
                CHECK(largest_error_in_units(random, forward_once(random, plan)) <= allowed);
            }
        }
    }
}
