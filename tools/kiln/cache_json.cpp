// SPDX-License-Identifier: Apache-2.0
#include "kiln/cache_json.hpp"

#include <array>
#include <charconv>
#include <ctime>

#include <fmt/format.h>

#include "cache/configuration.hpp"
#include "cache/key.hpp"
#include "kiln/exit_status.hpp"
#include "support/json.hpp"

namespace kiln::tools {

nlohmann::ordered_json stored_spec(const std::string& spec_json) {
    const auto spec = nlohmann::ordered_json::parse(spec_json, nullptr, false);
    return spec.is_discarded() ? nlohmann::ordered_json(nullptr) : spec;
}

nlohmann::ordered_json entry_to_json(Origin origin, const ListedEntry& entry) {
    nlohmann::ordered_json json{{"key", entry.key_name}, {"path", entry.path}, {"bytes", entry.bytes}};
    const auto fields = entry.head ? parse_key_head(entry.head->key_head) : std::nullopt;
    if (fields) {
        json["arch"] = fields->arch;
        json["toolchain"] = entry.head->facts.toolchain;
        json["family"] = fields->family;
        json["tile"] = fields->tile;
        json["cubin_bytes"] = entry.head->cubin_bytes;
        json["spec"] = stored_spec(entry.head->facts.spec_json);
    } else {
        json["fault"] = entry.head ? "its key is not one that Kiln writes" : entry.head.error().what;
    }
    json["origin"] = to_string(origin);
    json["last_used"] = time_text(entry.used_s);
    return json;
}

std::string time_text(std::int64_t seconds_since_1970) {
    const std::time_t seconds = seconds_since_1970;
    std::tm parts{};
    std::array<char, 32> text{};
    if (gmtime_r(&seconds, &parts) == nullptr) return "unknown";
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::int64_t parse_age(std::string_view option, std::string_view text) {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    std::int64_t seconds = 0;
    if (unit.empty() || unit == "s") seconds = 1;
    if (unit == "m") seconds = 60;
    if (unit == "h") seconds = 3600;
    if (unit == "d") seconds = std::int64_t{24} * 3600;
    if (unit == "w") seconds = std::int64_t{7} * 24 * 3600;
    if (error != std::errc{} || seconds == 0 || count < 0 || count > most / seconds) {
        throw wrong_usage(fmt::format("{} is '{}'; it must be an age such as 90m, 12h, 30d or 4w", option, text));
    }
    return count * seconds;
}

std::uint64_t parse_bytes(std::string_view option, std::string_view text) {
    const auto bytes = parse_size(text);
    if (!bytes) throw wrong_usage(fmt::format("{} is '{}'; it must be a size such as 64K, 500M or 2G", option, text));
    return *bytes;
}

}  // namespace kiln::tools
