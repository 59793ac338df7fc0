// SPDX-License-Identifier: Apache-2.0
#include "cache/configuration.hpp"

#include <filesystem>
#include <map>

#include "support/catch.hpp"

using namespace kiln;

namespace {

using Variables = std::map<std::string, std::string>;

Result<CacheConfiguration> resolved(const Variables& variables, const CacheOptions& options = {}) {
    return resolve(options, [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::string() : found->second;
    });
}

}  // namespace

TEST_CASE("the directory is the option's, the variable's, XDG's, or below the home, in this order") {
    Variables variables{{"KILN_CACHE_DIR", "/variable"}, {"XDG_CACHE_HOME", "/xdg"}, {"HOME", "/home/me"}};
    CacheOptions options;
    options.directory = "/option/./here/";
    CHECK(resolved(variables, options)->directory == "/option/here");
    CHECK(resolved(variables)->directory == "/variable");
    CHECK(resolved(variables)->directory_is_named);
    variables.erase("KILN_CACHE_DIR");
    CHECK(resolved(variables)->directory == "/xdg/kiln");
    CHECK_FALSE(resolved(variables)->directory_is_named);
    variables["XDG_CACHE_HOME"] = "relative";  // the specification says to ignore it
    CHECK(resolved(variables)->directory == "/home/me/.cache/kiln");
}

TEST_CASE("a relative directory is meant from where the program is") {
    CHECK(resolved({{"KILN_CACHE_DIR", "here"}})->directory == (std::filesystem::current_path() / "here").string());
}

TEST_CASE("a home that cannot be used leaves memory only, and the reason names the variable that helps") {
    for (const std::string home : {"", "/", "//", "/.", "home", "./home"}) {
        CAPTURE(home);
        const auto configuration = resolved({{"HOME", home}});
        REQUIRE(configuration);
        CHECK(configuration->directory.empty());
        CHECK(configuration->why_no_directory.find("KILN_CACHE_DIR") != std::string::npos);
    }
}

TEST_CASE("defaults, and what the variables change") {
    const auto defaults = resolved({{"HOME", "/home/me"}});
    REQUIRE(defaults);
    CHECK(defaults->mode == CacheMode::read_write);
    CHECK(defaults->maximum_bytes == 2147483648);
    CHECK_FALSE(defaults->strict);
    CHECK(defaults->toolchain == ToolchainPolicy::any);
    CHECK(defaults->layers.empty());
    CHECK_FALSE(defaults->trust_named_paths);

    const auto changed = resolved({{"KILN_CACHE", "ro"},
                                   {"KILN_CACHE_LAYERS", "/a::/b/:"},
                                   {"KILN_CACHE_MAX_SIZE", "500M"},
                                   {"KILN_CACHE_TRUST", "any"},
                                   {"KILN_STRICT", "1"},
                                   {"KILN_TOOLCHAIN", "exact"}});
    REQUIRE(changed);
    CHECK(changed->mode == CacheMode::read_only);
    CHECK(changed->layers == std::vector<std::string>{"/a", "/b"});
    CHECK(changed->maximum_bytes == 524288000);
    CHECK(changed->trust_named_paths);
    CHECK(changed->strict);
    CHECK(changed->toolchain == ToolchainPolicy::exact);
}

TEST_CASE("options in code win over the environment") {
    CacheOptions options;
    options.mode = CacheMode::off;
    options.layers = std::vector<std::filesystem::path>{};
    options.maximum_bytes = 5;
    options.strict = false;
    options.toolchain = ToolchainPolicy::any;
    const auto configuration = resolved({{"KILN_CACHE", "nonsense"},
                                         {"KILN_CACHE_LAYERS", "/a"},
                                         {"KILN_CACHE_MAX_SIZE", "nonsense"},
                                         {"KILN_STRICT", "1"},
                                         {"KILN_TOOLCHAIN", "exact"}},
                                        options);
    REQUIRE(configuration);
    CHECK(configuration->mode == CacheMode::off);
    CHECK(configuration->layers.empty());
    CHECK(configuration->maximum_bytes == 5);
    CHECK_FALSE(configuration->strict);
    CHECK(configuration->toolchain == ToolchainPolicy::any);
}

TEST_CASE("a variable that says nothing we know is an error that names it and what is allowed") {
    const Variables wrong{{"KILN_CACHE", "yes"},
                          {"KILN_CACHE_MAX_SIZE", "big"},
                          {"KILN_STRICT", "maybe"},
                          {"KILN_TOOLCHAIN", "newest"},
                          {"KILN_CACHE_TRUST", "all"}};
    for (const auto& [name, value] : wrong) {
        CAPTURE(name);
        const auto configuration = resolved({{name, value}});
        REQUIRE_FALSE(configuration);
        CHECK(configuration.error().code == ErrorCode::invalid_argument);
        CHECK(configuration.error().message.find(name) != std::string::npos);
        CHECK(configuration.error().message.find("'" + value + "'") != std::string::npos);
    }
}

TEST_CASE("sizes are in bytes or powers of 1024") {
    CHECK(parse_size("0") == 0);
    CHECK(parse_size("1000") == 1000);
    CHECK(parse_size("1000B") == 1000);
    CHECK(parse_size("2K") == 2048);
    CHECK(parse_size("3m") == 3145728);
    CHECK(parse_size("2G") == 2147483648);
    CHECK(parse_size("2GiB") == 2147483648);
    CHECK(parse_size("1Ti") == 1099511627776);
    for (const std::string text : {"", "G", "-1", "2X", "2GG", "2 G", "1.5G", "99999999999999999999", "18446744073709551615K"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_size(text));
    }
}
