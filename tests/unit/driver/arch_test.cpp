// SPDX-License-Identifier: Apache-2.0
#include <kiln/arch.hpp>
#include <kiln/error.hpp>

#include <set>
#include <string>

#include "driver/arch_table.hpp"
#include "support/catch.hpp"

using namespace kiln;

namespace {

// Static objects of users may name an arch before main.
const std::string name_before_main = Arch::sm_90a.name();

std::string refusal(std::string_view name) {
    try {
        return "accepted: " + Arch::parse(name).name();
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::unsupported_arch);
        return error.what();
    }
}

}  // namespace

TEST_CASE("an arch can be named before main") {
    CHECK(name_before_main == "sm_90a");
}

TEST_CASE("each GPU gets the arch of the table") {
    const auto served = [](int major, int minor) { return Arch::for_compute_capability(major, minor).name(); };
    CHECK(served(7, 5) == "sm_75");
    CHECK(served(8, 0) == "sm_80");
    CHECK(served(8, 6) == "sm_86");
    CHECK(served(8, 7) == "sm_86");
    CHECK(served(8, 9) == "sm_89");
    CHECK(served(9, 0) == "sm_90a");
    CHECK(served(10, 0) == "sm_100");
    CHECK(served(10, 3) == "sm_100");
    CHECK(served(12, 0) == "sm_120");
    CHECK(served(12, 1) == "sm_120");
}

TEST_CASE("a GPU without an arch is refused") {
    for (const auto& [major, minor] : {std::pair{7, 0}, {6, 1}, {8, 8}, {9, 5}, {11, 0}, {13, 0}}) {
        CHECK_THROWS_AS(Arch::for_compute_capability(major, minor), Error);
    }
    CHECK_THROWS_WITH(Arch::for_compute_capability(7, 0), Catch::Contains("7.0") && Catch::Contains("sm_75"));
}

TEST_CASE("each arch parses back from its own name") {
    std::set<std::string> names;
    for (const Arch* arch : ArchTable::all()) {
        CHECK(Arch::parse(arch->name()) == *arch);
        CHECK(arch->name().find(std::to_string(arch->number())) == 3);
        names.insert(arch->name());
    }
    CHECK(names.size() == 7);
    CHECK(Arch::sm_75 < Arch::sm_80);
    CHECK_FALSE(Arch::sm_80 == Arch::sm_86);
}

TEST_CASE("a name that no GPU asks for is refused, naming the right one") {
    CHECK(refusal("sm_90").find("sm_90a") != std::string::npos);
    CHECK(refusal("sm_90f").find("sm_90a") != std::string::npos);
    CHECK(refusal("sm_100a").find("sm_100 ") != std::string::npos);
    CHECK(refusal("sm_103").find("sm_100 ") != std::string::npos);
    CHECK(refusal("sm_121a").find("sm_120 ") != std::string::npos);
    CHECK(refusal("sm_87").find("sm_86 serves") != std::string::npos);
    CHECK(refusal("compute_80").find("sm_80 serves") != std::string::npos);
    CHECK(refusal("90a").find("sm_90a") != std::string::npos);
    CHECK(refusal("sm_80a").find("sm_80 serves") != std::string::npos);
}

TEST_CASE("a name that is no arch at all is refused with the list") {
    for (const char* name :
         {"", "sm_", "sm_70", "native", "sm_90a ", " sm_80", "sm_-80", "sm_99999999999999999999", "sm_80x", "gfx90a"}) {
        INFO(name);
        CHECK(refusal(name).find("sm_75, sm_80, sm_86, sm_89, sm_90a, sm_100, sm_120") != std::string::npos);
    }
}
