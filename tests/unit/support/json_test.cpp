// SPDX-License-Identifier: Apache-2.0
#include "support/json.hpp"

#include "support/catch.hpp"

using namespace kiln;

TEST_CASE("valid JSON is parsed") {
    const auto parsed = parse_json(R"({"a": [1, {"b": null}], "c": {"a": 2}})", "text");
    REQUIRE(parsed);
    CHECK((*parsed)["c"]["a"] == 2);
}

TEST_CASE("a duplicate key is refused at any depth, the same key in two objects is not") {
    const auto top = parse_json(R"({"a": 1, "a": 1})", "x.json");
    REQUIRE_FALSE(top);
    CHECK(top.error().code == ErrorCode::bad_file);
    CHECK(top.error().message == "x.json is not accepted: the key \"a\" appears twice in one object");
    CHECK_FALSE(parse_json(R"([{"k": {"a": 1, "b": 2, "a": 3}}])", "x.json"));
    CHECK(parse_json(R"([{"a": 1}, {"a": {"a": 1}}])", "x.json"));
}

TEST_CASE("text that is not JSON is refused, with its source and the place") {
    for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "nul", "1 2", "\"\xff\"", "1e999"}) {
        const auto parsed = parse_json(text, "x.json");
        INFO(text);
        REQUIRE_FALSE(parsed);
        CHECK(parsed.error().message.find("x.json is not valid JSON: ") == 0);
    }
}

TEST_CASE("deep nesting is refused") {
    CHECK(parse_json(std::string(30, '[') + std::string(30, ']'), "text"));
    const auto deep = parse_json(std::string(100'000, '['), "text");
    REQUIRE_FALSE(deep);
    CHECK(deep.error().message == "text is not accepted: it is nested more than 32 deep");
}

TEST_CASE("an excerpt is one printable line") {
    CHECK(excerpt("a\nb") == R"("a\nb")");
    CHECK(excerpt(std::string(1000, 'x')).size() < 70);
    CHECK(excerpt("\xff\xfe").find('\xff') == std::string::npos);
}
