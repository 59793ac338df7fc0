// SPDX-License-Identifier: Apache-2.0
#include "kiln/sum_check.hpp"

#include <limits>
#include <vector>

#include "support/catch.hpp"

using namespace kiln;
using namespace kiln::tools;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

bool passes(double sum, double expected, double tolerance) {
    return check_sums(std::vector<double>{sum}, std::vector<BoundedSum>{{expected, tolerance}}).passed;
}

}  // namespace

TEST_CASE("a sum passes within its bound and no further") {
    CHECK(passes(10.0, 10.5, 0.5));
    CHECK_FALSE(passes(10.0, 10.5, 0.49));
    CHECK(passes(1.0, 1.0, 0.0));
    CHECK_FALSE(passes(1.0, 1.0000001, 0.0));
}

TEST_CASE("the worst of all sums is told, and which was the first to fail") {
    const std::vector<double> sums{10, 20, 0.5, 40};
    const std::vector<BoundedSum> expected{{10, 1}, {25, 1}, {0, 2}, {44, 1}};
    const SumCheck check = check_sums(sums, expected);
    CHECK_FALSE(check.passed);
    CHECK(check.first_failed == 1);
    CHECK(check.max_share_of_tolerance == Approx(5));
    CHECK(check.max_relative_error == Approx(0.5));  // of the sum that should be 0: its own error
}

TEST_CASE("a NaN is right only where one is due") {
    CHECK(passes(not_a_number, not_a_number, not_a_number));
    CHECK_FALSE(passes(1.0, not_a_number, not_a_number));
    CHECK_FALSE(passes(not_a_number, 1.0, 0.5));
    CHECK_FALSE(passes(infinity, 1.0, 0.5));
}

TEST_CASE("where an infinite pixel leaves no bound, NaN or the expected sum is right") {
    CHECK(passes(not_a_number, infinity, infinity));
    CHECK(passes(infinity, infinity, infinity));
    CHECK_FALSE(passes(-infinity, infinity, infinity));
    CHECK(passes(not_a_number, 3.0, not_a_number));
    CHECK(passes(3.0, 3.0, not_a_number));
    CHECK_FALSE(passes(3.1, 3.0, not_a_number));
    const SumCheck check = check_sums(std::vector<double>{not_a_number}, std::vector<BoundedSum>{{3.0, not_a_number}});
    CHECK(check.max_relative_error == 0);
}

TEST_CASE("a missing sum is no pass") {
    CHECK_FALSE(check_sums(std::vector<double>{1}, std::vector<BoundedSum>{{1, 1}, {1, 1}}).passed);
}
