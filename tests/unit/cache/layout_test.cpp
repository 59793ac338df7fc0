// SPDX-License-Identifier: Apache-2.0
#include "cache/layout.hpp"

#include "support/catch.hpp"

using namespace kiln;

TEST_CASE("an entry lies in the shard of its first two digits") {
    CHECK(layout::entry_path("0123456789abcdef0123456789abcdef") == "01/0123456789abcdef0123456789abcdef.kiln");
}

TEST_CASE("only names of our grammar are ours") {
    CHECK(layout::key_name_of_file("01", "0123456789abcdef0123456789abcdef.kiln") == "0123456789abcdef0123456789abcdef");
    CHECK(layout::key_name_of_file("02", "0123456789abcdef0123456789abcdef.kiln").empty());
    CHECK(layout::key_name_of_file("01", "0123456789ABCDEF0123456789ABCDEF.kiln").empty());
    CHECK(layout::key_name_of_file("01", "0123456789abcdef0123456789abcdef.kiln2").empty());
    CHECK(layout::key_name_of_file("01", "0123456789abcdef0123456789abcdef").empty());
    CHECK(layout::key_name_of_file("01", "notes.txt").empty());
    CHECK(layout::key_name_of_file("01", "").empty());
    CHECK(layout::is_shard("0f"));
    CHECK_FALSE(layout::is_shard("0F"));
    CHECK_FALSE(layout::is_shard("lock"));
}
