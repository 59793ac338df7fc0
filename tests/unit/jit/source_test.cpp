// SPDX-License-Identifier: Apache-2.0
#include "jit/source.hpp"

#include <vector>

#include "support/catch.hpp"

using namespace kiln;

TEST_CASE("the preamble of constants stands before the template's text") {
    const std::vector<Constant> constants{{"in_channels", 8}, {"offset", -1}};
    CHECK(
        render_source("text\r\n", constants) ==
        "namespace spec {\nconstexpr long long in_channels = 8;\nconstexpr long long offset = -1;\n}  // namespace spec\ntext\n");
}

TEST_CASE("an embedded template has its includes in place and no stand-in for the preamble") {
    const auto text = template_text("simt");
    REQUIRE(text);
    CHECK(text->find("struct ForwardArguments") != std::string_view::npos);
    CHECK(text->find("#include") == std::string_view::npos);
    CHECK(text->find("namespace spec") == std::string_view::npos);
}

TEST_CASE("a template that does not exist is a fault, not a crash") {
    CHECK(template_text("nonsense").error().code == ErrorCode::internal);
}
