// SPDX-License-Identifier: Apache-2.0
#include "cache/key.hpp"

#include <rapidcheck.h>

#include <set>

#include "support/catch.hpp"
#include "support/sample_kernel.hpp"

using namespace kiln;
using test::sample_request;

TEST_CASE("the golden key: it fails only when a key's meaning changes, and then the version must") {
    const Key key = make_key(sample_request());
    CHECK(key.text ==
          "kiln-key 1:1\narch 6:sm_90a\nfamily 4:simt\ntile 24:positions=128,filters=64\n"
          "options 23:-arch=sm_90a\n-std=c++17\nsource 33:constexpr int n = 8;\nkernel text\n\n");
    CHECK(key.name == "269fb27b019e6d2054f1a292c20ae824");
}

TEST_CASE("each thing that a kernel is made from is in its key") {
    const Key original = make_key(sample_request());
    std::set<std::string> names{original.name};
    const auto changed = [&](auto change) {
        KernelRequest request = sample_request();
        change(request);
        const Key key = make_key(request);
        CHECK_FALSE(key == original);
        names.insert(key.name);
    };
    changed([](KernelRequest& request) { request.arch = Arch::sm_100; });
    changed([](KernelRequest& request) { request.family = "hopper"; });
    changed([](KernelRequest& request) { request.tile = "positions=64,filters=64"; });
    changed([](KernelRequest& request) { request.options += "\n-lineinfo"; });
    changed([](KernelRequest& request) { request.source[0] = 'C'; });
    names.insert(make_key(sample_request(), "0123abcd").name);
    names.insert(make_key(sample_request(), "0123abce").name);
    CHECK(names.size() == 8);
}

TEST_CASE("what moves from one field to its neighbour changes the key") {
    KernelRequest left = sample_request();
    KernelRequest right = sample_request();
    left.family = "ab";
    left.tile = "c";
    right.family = "a";
    right.tile = "bc";
    CHECK_FALSE(make_key(left) == make_key(right));
}

TEST_CASE("what is only for people is not in the key") {
    KernelRequest request = sample_request();
    request.spec_json = "{}";
    CHECK(make_key(request) == make_key(sample_request()));
}

TEST_CASE("line ends do not change a key") {
    KernelRequest request = sample_request();
    request.source = "constexpr int n = 8;\r\nkernel text\r\n";
    request.options = "-arch=sm_90a\r\n-std=c++17";
    CHECK(make_key(request) == make_key(sample_request()));
    request.source = "constexpr int n = 8;\rkernel text\r";
    CHECK_FALSE(make_key(request) == make_key(sample_request()));
}

TEST_CASE("a key's text reads back") {
    CHECK(rc::check("any fields", [](const std::string& family, const std::string& tile, const std::string& source) {
        KernelRequest request = sample_request();
        request.family = family;
        request.tile = tile;
        request.source = source;
        RC_PRE(source.find('\r') == std::string::npos);
        const auto build_id = *rc::gen::element<std::string>("", "0123abcd");
        const Key key = make_key(request, build_id);

        const auto fields = parse_key(key.text);
        RC_ASSERT(fields.has_value());
        RC_ASSERT(fields->arch == "sm_90a");
        RC_ASSERT(fields->family == family);
        RC_ASSERT(fields->tile == tile);
        RC_ASSERT(fields->options == request.options);
        RC_ASSERT(fields->build_id == build_id);
        RC_ASSERT(fields->source == source);

        const auto head = key_head(key.text);
        RC_ASSERT(head.has_value());
        RC_ASSERT(parse_key_head(*head)->tile == tile);
        RC_ASSERT(key_of_text(key_text(*head, source)) == key);
    }));
}

TEST_CASE("a text that no key has is not one") {
    const std::string text = make_key(sample_request()).text;
    CHECK_FALSE(parse_key(""));
    CHECK_FALSE(parse_key(text + "\n"));
    for (std::size_t length = 0; length < text.size(); ++length) CHECK_FALSE(parse_key(text.substr(0, length)));
    std::string later = text;
    later.replace(later.find("1:1"), 3, "1:2");
    CHECK_FALSE(parse_key(later));
}
