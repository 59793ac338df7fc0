// SPDX-License-Identifier: Apache-2.0
#include "cache/field_text.hpp"

#include <rapidcheck.h>

#include "support/catch.hpp"

using namespace kiln;

TEST_CASE("a field is its name, its length and its value") {
    std::string text;
    append_field(text, "arch", "sm_90a");
    append_field(text, "empty", "");
    CHECK(text == "arch 6:sm_90a\nempty 0:\n");
}

TEST_CASE("fields read back whatever their values hold") {
    CHECK(rc::check("any values", [](const std::string& first, const std::string& second) {
        std::string text;
        append_field(text, "first", first);
        append_field(text, "second", second);
        FieldReader reader(text);
        RC_ASSERT(reader.take("first") == first);
        RC_ASSERT(reader.take("second") == second);
        RC_ASSERT(reader.rest().empty());
    }));
}

TEST_CASE("a field of another name stays where it is") {
    FieldReader reader("arch 1:x\n");
    CHECK_FALSE(reader.take("arc"));
    CHECK_FALSE(reader.take("family"));
    CHECK(reader.take("arch") == "x");
}

TEST_CASE("what no writer writes is not read") {
    for (const std::string text : {"", "a", "a ", "a 1", "a 1:", "a 1:x", "a 1:xy", "a 01:x\n", "a +1:x\n", "a -1:x\n", "a 2:x\n",
                                   "a  1:x\n", "a 99999999999999999999:x\n", "a 18446744073709551615:x\n"}) {
        CAPTURE(text);
        CHECK_FALSE(FieldReader(text).take("a"));
    }
}
