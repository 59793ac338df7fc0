// SPDX-License-Identifier: Apache-2.0
#include "support/hash.hpp"

#include "support/catch.hpp"

using namespace kiln;

TEST_CASE("XXH3-128 gives the values that its specification's implementations give") {
    // The hash of nothing and of "a", as `xxhsum -H2` prints them.
    CHECK(xxh3_128({}).hex() == "99aa06d3014798d86001c324468d497f");
    CHECK(xxh3_128(as_bytes("a")).hex() == "a96faf705af16834e6c632b61e964e1f");
}

TEST_CASE("a hash in pieces equals the hash of the whole") {
    const std::string text(1000, 'k');
    Hasher hasher;
    for (std::size_t at = 0; at < text.size(); at += 7) hasher.update(as_bytes(std::string_view(text).substr(at, 7)));
    CHECK(hasher.digest() == xxh3_128(as_bytes(text)));
}

TEST_CASE("a hash reads back from its digits, and from nothing else") {
    const Hash128 hash = xxh3_128(as_bytes("kiln"));
    REQUIRE(parse_hash(hash.hex()));
    CHECK(*parse_hash(hash.hex()) == hash);
    CHECK_FALSE(parse_hash(hash.hex().substr(1)));
    CHECK_FALSE(parse_hash(hash.hex() + "0"));
    CHECK_FALSE(parse_hash("99AA06D3014798D86001C324468D497F"));
    CHECK_FALSE(parse_hash("g9aa06d3014798d86001c324468d497f"));
}

TEST_CASE("the low half of a hash is its last eight bytes") {
    CHECK(parse_hash("000000000000000000000000000001ff")->low64() == 0x1ff);
}
