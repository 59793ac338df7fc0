// SPDX-License-Identifier: Apache-2.0
#include "cache/configuration.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "support/environment.hpp"

namespace kiln {
namespace {

/// Absolute and without "." and "x/.."; links stay as they are.
std::string absolute_path(const std::filesystem::path& path) {
    std::error_code failed;
    const auto whole = std::filesystem::absolute(path, failed);
    std::string text = (failed ? path : whole).lexically_normal().string();
    if (text.size() > 1 && text.back() == '/') text.pop_back();
    return text;
}

void use_home(CacheConfiguration& configuration, const EnvironmentLookup& look_up) {
    const std::string xdg = look_up("XDG_CACHE_HOME");
    if (!xdg.empty() && xdg.front() == '/') {  // the XDG specification: relative paths are to be ignored
        configuration.directory = absolute_path(std::filesystem::path(xdg) / "kiln");
        return;
    }
    const std::string home = look_up("HOME");
    const std::string_view advice = "KILN_CACHE_DIR can name a directory to keep kernels in";
    if (home.empty()) {
        configuration.why_no_directory = fmt::format("HOME is not set; {}", advice);
    } else if (home.front() != '/') {
        configuration.why_no_directory = fmt::format("HOME is '{}', which is not an absolute path; {}", home, advice);
    } else if (absolute_path(home) == "/") {
        configuration.why_no_directory = fmt::format("HOME is '/'; {}", advice);
    } else {
        configuration.directory = absolute_path(std::filesystem::path(home) / ".cache" / "kiln");
    }
}

void use_directory(CacheConfiguration& configuration, const CacheOptions& options, const EnvironmentLookup& look_up) {
    const std::filesystem::path named = options.directory ? *options.directory : std::filesystem::path(look_up("KILN_CACHE_DIR"));
    if (named.empty()) {
        use_home(configuration, look_up);
    } else {
        configuration.directory = absolute_path(named);
        configuration.directory_is_named = true;
    }
}

std::vector<std::string> split_layers(std::string_view text) {
    std::vector<std::string> layers;
    while (!text.empty()) {
        const std::size_t colon = std::min(text.find(':'), text.size());
        if (colon > 0) layers.push_back(absolute_path(std::string(text.substr(0, colon))));
        text.remove_prefix(std::min(colon + 1, text.size()));
    }
    return layers;
}

/// Finds what a variable says among what it may say; the first choice is the default.
template <typename T>
Result<T> choose(const char* name, const EnvironmentLookup& look_up,
                 std::initializer_list<std::pair<std::string_view, T>> choices) {
    const std::string value = look_up(name);
    if (value.empty()) return choices.begin()->second;
    std::string allowed;
    for (const auto& [text, meaning] : choices) {
        if (value == text) return meaning;
        allowed += allowed.empty() ? "" : ", ";
        allowed += fmt::format("'{}'", text);
    }
    return fail(ErrorCode::invalid_argument, "{} is '{}'; allowed are {}", name, value, allowed);
}

Result<std::uint64_t> maximum_from(const EnvironmentLookup& look_up) {
    const std::string value = look_up("KILN_CACHE_MAX_SIZE");
    if (value.empty()) return CacheConfiguration::default_maximum_bytes;
    if (const auto bytes = parse_size(value)) return *bytes;
    return fail(ErrorCode::invalid_argument, "KILN_CACHE_MAX_SIZE is '{}'; allowed is a number of bytes such as 500M or 2G",
                value);
}

}  // namespace

Result<CacheConfiguration> resolve(const CacheOptions& options, const EnvironmentLookup& look_up) {
    CacheConfiguration result;
    use_directory(result, options, look_up);

    auto mode = choose<CacheMode>("KILN_CACHE", look_up,
                                  {{"rw", CacheMode::read_write}, {"ro", CacheMode::read_only}, {"off", CacheMode::off}});
    auto strict = choose<bool>("KILN_STRICT", look_up,
                               {{"0", false}, {"1", true}, {"false", false}, {"true", true}, {"off", false}, {"on", true}});
    auto toolchain =
        choose<ToolchainPolicy>("KILN_TOOLCHAIN", look_up, {{"any", ToolchainPolicy::any}, {"exact", ToolchainPolicy::exact}});
    auto trust = choose<bool>("KILN_CACHE_TRUST", look_up, {{"owner", false}, {"any", true}});
    auto maximum = maximum_from(look_up);
    if (!mode && !options.mode) return pass_on(mode);
    if (!strict && !options.strict) return pass_on(strict);
    if (!toolchain && !options.toolchain) return pass_on(toolchain);
    if (!trust) return pass_on(trust);
    if (!maximum && !options.maximum_bytes) return pass_on(maximum);

    result.mode = options.mode ? *options.mode : *mode;
    result.strict = options.strict ? *options.strict : *strict;
    result.toolchain = options.toolchain ? *options.toolchain : *toolchain;
    result.trust_named_paths = *trust;
    result.maximum_bytes = options.maximum_bytes ? *options.maximum_bytes : *maximum;
    if (options.layers) {
        for (const auto& layer : *options.layers) result.layers.push_back(absolute_path(layer));
    } else {
        result.layers = split_layers(look_up("KILN_CACHE_LAYERS"));
    }
    return result;
}

Result<CacheConfiguration> resolve(const CacheOptions& options) {
    return resolve(options, environment);
}

std::optional<std::uint64_t> parse_size(std::string_view text) noexcept {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (unit.empty() || unit == "B") return number;

    constexpr std::string_view letters = "KMGT";
    const auto letter = letters.find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit.front()))));
    unit.remove_prefix(1);
    if (letter == std::string_view::npos || !(unit.empty() || unit == "B" || unit == "i" || unit == "iB")) return std::nullopt;
    const auto shift = static_cast<unsigned>(10 * (letter + 1));
    if (number > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
    return number << shift;
}

}  // namespace kiln
