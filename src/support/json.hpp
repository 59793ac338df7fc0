// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "support/result.hpp"

namespace kiln {

/// Parses text that nobody has vouched for: stricter than the library, which keeps the last of two equal keys and nests without
/// limit. `source` names the text in the message, such as a file. A failure is `bad_file`.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text, std::string_view source);

/// A value for a message: compact, printable, and not longer than a line.
[[nodiscard]] std::string excerpt(const nlohmann::json& value);

}  // namespace kiln
