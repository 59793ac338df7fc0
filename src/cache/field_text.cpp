// SPDX-License-Identifier: Apache-2.0
#include "cache/field_text.hpp"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace kiln {

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out += name;
    out += ' ';
    out += std::to_string(value.size());
    out += ':';
    out += value;
    out += '\n';
}

std::optional<std::string_view> FieldReader::take(std::string_view name) noexcept {
    std::string_view text = rest_;
    if (text.substr(0, name.size()) != name) return std::nullopt;
    text.remove_prefix(name.size());
    if (text.empty() || text.front() != ' ') return std::nullopt;
    text.remove_prefix(1);

    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || (digits > 1 && text.front() == '0')) return std::nullopt;
    text.remove_prefix(digits);
    if (text.empty() || text.front() != ':') return std::nullopt;
    text.remove_prefix(1);

    if (text.size() <= length || text[length] != '\n') return std::nullopt;
    rest_ = text.substr(length + 1);
    return text.substr(0, length);
}

}  // namespace kiln
