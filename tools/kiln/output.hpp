// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace kiln::tools {

/// Standard output, for data alone. Buffered; what cannot be written (a full disk, a reader that has gone) is a `bad_file` error
/// and never silence, which is why nothing here goes through std::cout.
class Output {
public:
    Output() = default;
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    void write(std::string_view text);
    void write_line(std::string_view text);

    /// One document and a line end. Bytes that are not UTF-8, of a file's name perhaps, are replaced.
    void write_json(const nlohmann::ordered_json& document);

    /// A part of a document, in one line and without its end.
    void write_json_line(const nlohmann::ordered_json& part);

    /// Call it before the program says that all went well.
    void flush();

private:
    std::string buffer_;
};

/// Standard error, for people: "kiln: …" and a line end. Never fails.
void tell(std::string_view message);

/// The same, marked as an error; in colour on a terminal unless NO_COLOR says otherwise.
void tell_error(std::string_view message);

/// Whether standard error is a terminal that takes cursor movements, and whether colours are welcome there.
[[nodiscard]] bool is_error_terminal();
[[nodiscard]] bool is_colour_welcome();

/// Rows of text whose columns line up. The first row is the heading.
[[nodiscard]] std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace kiln::tools
