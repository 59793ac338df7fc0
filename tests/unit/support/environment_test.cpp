// SPDX-License-Identifier: Apache-2.0
#include "support/environment.hpp"

#include <cstdlib>

#include "support/catch.hpp"

using namespace kiln;

TEST_CASE("a variable's value is read, and one that is not set is empty") {
    setenv("KILN_TEST_VARIABLE", "value", 1);
    CHECK(environment("KILN_TEST_VARIABLE") == "value");
    setenv("KILN_TEST_VARIABLE", "", 1);
    CHECK(environment("KILN_TEST_VARIABLE").empty());
    unsetenv("KILN_TEST_VARIABLE");
    CHECK(environment("KILN_TEST_VARIABLE").empty());
}
