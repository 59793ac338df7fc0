// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <kiln/report.hpp>
#include <nlohmann/json.hpp>

#include "cache/layer.hpp"

namespace kiln::tools {

/// An entry's facts under the names that scripts rely on; `fault` instead where its head cannot be read.
[[nodiscard]] nlohmann::ordered_json entry_to_json(Origin origin, const ListedEntry& entry);

/// The spec that an entry keeps, or null where it is none.
[[nodiscard]] nlohmann::ordered_json stored_spec(const std::string& spec_json);

/// "2026-11-29T21:32:00Z", in UTC.
[[nodiscard]] std::string time_text(std::int64_t seconds_since_1970);

/// "30d": seconds, or with s, m, h, d or w behind the number. Text that is no age is wrong usage.
[[nodiscard]] std::int64_t parse_age(std::string_view option, std::string_view text);

/// "500M": bytes, or with K, M, G or T behind the number. Text that is no size is wrong usage.
[[nodiscard]] std::uint64_t parse_bytes(std::string_view option, std::string_view text);

}  // namespace kiln::tools
