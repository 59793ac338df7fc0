// SPDX-License-Identifier: Apache-2.0
#include "cache/key.hpp"

#include <utility>

#include "cache/field_text.hpp"
#include "support/bytes.hpp"
#include "support/hash.hpp"

namespace kiln {
namespace {

/// Raise it whenever a text stops meaning what it meant. tests/unit/cache/key_test.cpp has a golden key that says so.
constexpr std::string_view key_version = "1";

bool has_carriage_return(std::string_view text) noexcept {
    return text.find('\r') != std::string_view::npos;
}

/// CR LF becomes LF.
std::string with_plain_line_ends(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
        plain += text[i];
    }
    return plain;
}

void append_lines(std::string& out, std::string_view name, std::string_view lines) {
    if (has_carriage_return(lines)) {
        append_field(out, name, with_plain_line_ends(lines));
    } else {
        append_field(out, name, lines);
    }
}

/// The fields before the source; the reader then stands at the source.
std::optional<KeyFields> take_head(FieldReader& reader) noexcept {
    const auto version = reader.take("kiln-key");
    const auto arch = reader.take("arch");
    const auto family = reader.take("family");
    const auto tile = reader.take("tile");
    const auto options = reader.take("options");
    const auto build_id = reader.take("build-id");
    if (version != key_version || !arch || !family || !tile || !options) return std::nullopt;
    return KeyFields{*arch, *family, *tile, *options, build_id.value_or(std::string_view()), {}};
}

}  // namespace

Key make_key(const KernelRequest& request, std::string_view build_id) {
    std::string text;
    text.reserve(256 + request.tile.size() + request.options.size() + request.source.size());
    append_field(text, "kiln-key", key_version);
    append_field(text, "arch", request.arch.name());
    append_field(text, "family", request.family);
    append_field(text, "tile", request.tile);
    append_lines(text, "options", request.options);
    if (!build_id.empty()) append_field(text, "build-id", build_id);
    append_lines(text, "source", request.source);
    return key_of_text(std::move(text));
}

Key key_of_text(std::string text) {
    std::string name = xxh3_128(as_bytes(text)).hex();
    return {std::move(text), std::move(name)};
}

std::optional<KeyFields> parse_key(std::string_view text) noexcept {
    FieldReader reader(text);
    auto fields = take_head(reader);
    const auto source = reader.take("source");
    if (!fields || !source || !reader.rest().empty()) return std::nullopt;
    fields->source = *source;
    return fields;
}

std::optional<std::string_view> key_head(std::string_view text) noexcept {
    FieldReader reader(text);
    if (!take_head(reader)) return std::nullopt;
    return text.substr(0, text.size() - reader.rest().size());
}

std::optional<KeyFields> parse_key_head(std::string_view head) noexcept {
    FieldReader reader(head);
    const auto fields = take_head(reader);
    return reader.rest().empty() ? fields : std::nullopt;
}

std::string key_text(std::string_view head, std::string_view source) {
    std::string text;
    text.reserve(head.size() + source.size() + 32);
    text += head;
    append_field(text, "source", source);
    return text;
}

}  // namespace kiln
