// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cache/kernel_request.hpp"

namespace kiln {

/// What identifies a kernel: a text that says everything it is made from, and the text's XXH3-128 as a name for files.
///
/// Two kernels are the same if and only if their texts are equal. The name alone proves nothing, because the hash is not
/// cryptographic: whoever finds something by name compares the text.
struct Key {
    std::string text;
    std::string name;  ///< 32 hexadecimal digits

    friend bool operator==(const Key& a, const Key& b) noexcept { return a.name == b.name && a.text == b.text; }
};

/// For tables in memory.
struct KeyHash {
    [[nodiscard]] std::size_t operator()(const Key& key) const noexcept { return std::hash<std::string_view>{}(key.name); }
};

/// The key of a request: pure, and the same on every machine. Its text is a field text (cache/field_text.hpp):
///
///     "kiln-key" version, "arch", "family", "tile", "options", ["build-id"], "source"
///
/// with line ends as LF. `build_id` is that of libnvrtc where the toolchain must match exactly, and empty otherwise.
/// There are no paths, times or machine names in it, and the version changes whenever its meaning does.
[[nodiscard]] Key make_key(const KernelRequest& request, std::string_view build_id = {});

/// The key of a text, such as one read from an entry.
[[nodiscard]] Key key_of_text(std::string text);

/// A key's text taken apart; the views point into it.
struct KeyFields {
    std::string_view arch;
    std::string_view family;
    std::string_view tile;
    std::string_view options;
    std::string_view build_id;  ///< empty where any toolchain will do
    std::string_view source;    ///< empty where only the head was read
};

/// Nothing if the text is not one that `make_key` writes.
[[nodiscard]] std::optional<KeyFields> parse_key(std::string_view text) noexcept;

/// The text up to its source field: what an entry keeps apart from the source.
[[nodiscard]] std::optional<std::string_view> key_head(std::string_view text) noexcept;
[[nodiscard]] std::optional<KeyFields> parse_key_head(std::string_view head) noexcept;

/// The text again, from its head and its source.
[[nodiscard]] std::string key_text(std::string_view head, std::string_view source);

}  // namespace kiln
