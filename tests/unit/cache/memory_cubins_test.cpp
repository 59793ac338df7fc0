// SPDX-License-Identifier: Apache-2.0
#include "cache/memory_cubins.hpp"

#include "support/catch.hpp"

using namespace kiln;

namespace {

Key key_number(int number) {
    return key_of_text(std::to_string(number));
}

MemoryCubins::Item item_of(std::size_t bytes) {
    return {std::make_shared<const Bytes>(bytes), "", true};
}

}  // namespace

TEST_CASE("the cubin that was used longest ago goes first") {
    MemoryCubins cubins(303);
    cubins.put(key_number(1), item_of(100));
    cubins.put(key_number(2), item_of(100));
    cubins.put(key_number(3), item_of(100));
    REQUIRE(cubins.find(key_number(1)));
    cubins.put(key_number(4), item_of(100));
    CHECK(cubins.find(key_number(1)));
    CHECK_FALSE(cubins.find(key_number(2)));
    CHECK(cubins.find(key_number(3)));
    CHECK(cubins.find(key_number(4)));
    CHECK(cubins.bytes() == 303);
}

TEST_CASE("a cubin that is put again counts once") {
    MemoryCubins cubins;
    cubins.put(key_number(1), item_of(100));
    cubins.put(key_number(1), item_of(50));
    CHECK(cubins.bytes() == 51);
    CHECK(cubins.find(key_number(1))->cubin->size() == 50);
    cubins.erase(key_number(1));
    CHECK(cubins.bytes() == 0);
    CHECK_FALSE(cubins.find(key_number(1)));
}

TEST_CASE("a cubin larger than the whole is not kept, and harms nothing") {
    MemoryCubins cubins(100);
    cubins.put(key_number(1), item_of(500));
    CHECK(cubins.bytes() == 0);
    cubins.put(key_number(2), item_of(50));
    CHECK(cubins.find(key_number(2)));
}

TEST_CASE("equal names with different texts are different kernels") {
    MemoryCubins cubins;
    Key key = key_number(1);
    cubins.put(key, item_of(10));
    key.text = "another kernel that happens to have this name";
    CHECK_FALSE(cubins.find(key));
    cubins.erase(key);
    CHECK(cubins.find(key_number(1)));
}
