// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kiln {

/// A list of named values as text that reads back exactly, whatever the values hold:
///
///     field_text := { name " " length ":" value "\n" }
///     name       := one or more of a-z and "-"
///     length     := the value's size in bytes, decimal, no leading zeros
///
/// Keys and the fields of an entry are written in it. One text per list of values, so texts can be compared instead of values.
void append_field(std::string& out, std::string_view name, std::string_view value);

/// Reads a field text from its front.
class FieldReader {
public:
    explicit FieldReader(std::string_view text) noexcept : rest_(text) {}

    /// The value of the next field if it has this name; nothing moves otherwise.
    [[nodiscard]] std::optional<std::string_view> take(std::string_view name) noexcept;

    [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

private:
    std::string_view rest_;
};

}  // namespace kiln
