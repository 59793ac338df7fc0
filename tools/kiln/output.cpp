// SPDX-License-Identifier: Apache-2.0
#include "kiln/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>
#include <kiln/error.hpp>

namespace kiln::tools {
namespace {

constexpr std::size_t flush_at_bytes = std::size_t{64} * 1024;

/// UTF-8 code points: what a column is wide, for the text that Kiln prints.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void Output::write(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= flush_at_bytes) flush();
}

void Output::write_line(std::string_view text) {
    write(text);
    write("\n");
}

void Output::write_json(const nlohmann::ordered_json& document) {
    write_line(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void Output::write_json_line(const nlohmann::ordered_json& part) {
    write(part.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void Output::flush() {
    std::string_view rest = buffer_;
    while (!rest.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            const std::string why = std::generic_category().message(written < 0 ? errno : EIO);
            buffer_.clear();
            throw Error(ErrorCode::bad_file, fmt::format("standard output cannot be written: {}", why));
        }
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    buffer_.clear();
}

bool is_error_terminal() {
    const char* terminal = std::getenv("TERM");
    return ::isatty(STDERR_FILENO) == 1 && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

bool is_colour_welcome() {
    const char* refused = std::getenv("NO_COLOR");
    return is_error_terminal() && (refused == nullptr || *refused == '\0');
}

void tell(std::string_view message) {
    fmt::print(stderr, "kiln: {}\n", message);
}

void tell_error(std::string_view message) {
    fmt::print(stderr, "kiln: {}error:{} {}\n", is_colour_welcome() ? "\x1b[1;31m" : "", is_colour_welcome() ? "\x1b[0m" : "",
               message);
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t column = 0; column < row.size(); ++column) {
            widths[column] = std::max(widths[column], width_of(row[column]));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t column = 0; column < row.size(); ++column) {
            text += row[column];
            if (column + 1 < row.size()) text.append(widths[column] - width_of(row[column]) + 2, ' ');
        }
        text += '\n';
    }
    return text;
}

}  // namespace kiln::tools
