// SPDX-License-Identifier: Apache-2.0
#include "support/contract.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "model/definition.hpp"
#include "support/catch.hpp"
#include "support/gpu.hpp"

namespace kiln::test {

void check_contract(const RandomCase& random, const std::vector<Plan>& plans, Tolerance tolerance, std::size_t offset) {
    // One family alone, by KILN_TEST_FAMILY, need not serve every spec.
    if (plans.empty() && std::getenv("KILN_TEST_FAMILY") != nullptr) return;
    REQUIRE_FALSE(plans.empty());
    const std::vector<BoundedSum> expected = bounded_reference(random.spec, random.weights(), random.input, random.shape);
    const Shape& shape = random.shape;
    for (const Plan& plan : plans) {
        const std::vector<float> sums = forward_once(random, plan, offset);
        INFO(plan.family->name() << " " << to_string(plan.candidate.tile) << ", spec " << describe(random.spec) << ", batch "
                                 << shape.batch << ", " << shape.height << "x" << shape.width << ", offset " << offset);
        REQUIRE(sums.size() == expected.size());
        for (std::size_t n = 0; n < sums.size(); ++n) {
            const double outer = tolerance == Tolerance::logit_alone ? 1e-6 * std::abs(expected[n].value) : 0.0;
            // One rounding, of y itself to fp32, is in no kernel's hands.
            const double allowed = expected[n].tolerance - outer + 0x1p-24 * std::abs(expected[n].value);
            if (std::abs(sums[n] - expected[n].value) <= allowed) continue;
            INFO("image " << n << ": " << sums[n] << ", definition " << expected[n].value << ", allowed " << allowed);
            CHECK(std::abs(sums[n] - expected[n].value) <= allowed);
        }
    }
}

void check_contract_in_every_family(const std::vector<RandomCase>& cases, Tolerance tolerance, std::size_t offset) {
    std::vector<ModelSpec> specs;
    for (const RandomCase& each : cases) specs.push_back(each.spec);
    compile_ahead(specs);
    for (const RandomCase& each : cases) check_contract(each, best_plan_of_each_family(each.spec), tolerance, offset);
}

void check_same_bits(const RandomCase& random, const Plan& plan) {
    INFO(plan.family->name() << " " << to_string(plan.candidate.tile) << ", spec " << describe(random.spec));
    const Model model = model_of(random, plan);
    Forward forward(model, random);
    const std::vector<float> first = forward.run();
    int different = 0;
    for (int repeat = 0; repeat < 20; ++repeat) different += forward.run() == first ? 0 : 1;
    CHECK(different == 0);
}

}  // namespace kiln::test
