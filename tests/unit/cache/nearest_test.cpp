// SPDX-License-Identifier: Apache-2.0
#include "cache/nearest.hpp"

#include "support/captured_log.hpp"
#include "support/catch.hpp"
#include "support/sample_kernel.hpp"

using namespace kiln;
using test::Compiler;
using test::configuration_in;
using test::sample_request;
using test::TemporaryDirectory;

namespace {

/// What is nearest to the sample request among others.
std::optional<Nearest> nearest_among(const std::vector<KernelRequest>& cached, const KernelRequest& wanted = sample_request()) {
    const TemporaryDirectory temporary;
    KernelCache cache(configuration_in(temporary));
    Compiler compiler;
    for (const auto& each : cached) REQUIRE(cache.obtain(each, compiler.function()));
    return cache.nearest(wanted);
}

KernelRequest changed(void (*change)(KernelRequest&)) {
    KernelRequest request = sample_request();
    change(request);
    return request;
}

}  // namespace

TEST_CASE("an empty cache has nothing near") {
    CHECK_FALSE(nearest_among({}));
}

TEST_CASE("each field that differs is named with both values") {
    const auto other_arch = nearest_among({changed([](KernelRequest& request) {
        request.arch = Arch::sm_80;
        request.options = "-arch=sm_80\n-std=c++17";  // repeats the arch, which must not count twice
    })});
    REQUIRE(other_arch);
    REQUIRE(other_arch->differences.size() == 1);
    CHECK(other_arch->text() == "its arch is 'sm_80', not 'sm_90a'");

    const auto other_tile = nearest_among({changed([](KernelRequest& request) { request.tile = "positions=64"; })});
    CHECK(other_tile->text() == "its tile is 'positions=64', not 'positions=128,filters=64'");

    const auto other_family = nearest_among({changed([](KernelRequest& request) { request.family = "hopper"; })});
    CHECK(other_family->text() == "its family is 'hopper', not 'simt'");

    const auto other_spec = nearest_among({changed([](KernelRequest& request) {
        request.source += "//";
        request.spec_json = R"({"in_channels":9,"bias":true})";
    })});
    REQUIRE(other_spec->differences.size() == 2);
    CHECK(other_spec->text().find("its spec.in_channels is '9', not '8'") != std::string::npos);
    CHECK(other_spec->text().find("spec.bias") != std::string::npos);

    const auto other_source = nearest_among({changed([](KernelRequest& request) { request.source += "// a later template"; })});
    CHECK(other_source->text() == "its source differs");
}

TEST_CASE("the same spec comes first, then the fewest differences") {
    const auto same_spec_much_else = changed([](KernelRequest& request) {
        request.family = "hopper";
        request.tile = "positions=64";
        request.arch = Arch::sm_80;
    });
    const auto other_spec_nothing_else = changed([](KernelRequest& request) {
        request.source += "//";
        request.spec_json = R"({"in_channels":9})";
    });
    const auto nearest = nearest_among({other_spec_nothing_else, same_spec_much_else});
    REQUIRE(nearest);
    CHECK(nearest->key_name == make_key(same_spec_much_else).name);

    const auto one_difference = changed([](KernelRequest& request) { request.arch = Arch::sm_100; });
    CHECK(nearest_among({same_spec_much_else, one_difference, other_spec_nothing_else})->key_name ==
          make_key(one_difference).name);
}

TEST_CASE("a spec that is no JSON is compared as a whole") {
    const auto nearest = nearest_among({changed([](KernelRequest& request) {
        request.source += "//";
        request.spec_json = "[[[not an object";
    })});
    REQUIRE(nearest);
    CHECK(nearest->differences.at(0).field == "spec");
}
