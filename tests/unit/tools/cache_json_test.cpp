// SPDX-License-Identifier: Apache-2.0
#include "kiln/cache_json.hpp"

#include "kiln/exit_status.hpp"
#include "support/catch.hpp"

using namespace kiln;
using namespace kiln::tools;

TEST_CASE("an age is a number of seconds, or has a unit") {
    CHECK(parse_age("--age", "90") == 90);
    CHECK(parse_age("--age", "0") == 0);
    CHECK(parse_age("--age", "90s") == 90);
    CHECK(parse_age("--age", "2m") == 120);
    CHECK(parse_age("--age", "12h") == 43'200);
    CHECK(parse_age("--age", "30d") == 2'592'000);
    CHECK(parse_age("--age", "4w") == 2'419'200);
    for (const char* text : {"", "d", "-1d", "1.5d", "1y", "1dd", "99999999999999999999", "9223372036854775807w", " 1d"}) {
        INFO(text);
        CHECK_THROWS_AS(parse_age("--age", text), CommandFailure);
    }
}

TEST_CASE("a size has a unit of powers of 1024") {
    CHECK(parse_bytes("--size", "64K") == 65'536);
    CHECK(parse_bytes("--size", "2G") == 2'147'483'648);
    CHECK_THROWS_AS(parse_bytes("--size", "much"), CommandFailure);
}

TEST_CASE("times are told in UTC") {
    CHECK(time_text(0) == "1970-01-01T00:00:00Z");
    CHECK(time_text(951'782'400) == "2000-02-29T00:00:00Z");
}

TEST_CASE("an entry whose head cannot be read has a fault and no facts") {
    const ListedEntry entry{.key_name = "00ff",
                            .path = "/cache/00/00ff.kiln",
                            .bytes = 12,
                            .used_s = 0,
                            .head = tl::unexpected(EntryFault{EntryFault::Kind::damaged, "it is cut"})};
    const auto json = entry_to_json(Origin::user, entry);
    CHECK(json["fault"] == "it is cut");
    CHECK_FALSE(json.contains("arch"));
    CHECK(json["bytes"] == 12);
    CHECK(stored_spec("{").is_null());
    CHECK(stored_spec(R"({"bias":true})")["bias"] == true);
}
