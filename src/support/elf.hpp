// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "support/bytes.hpp"
#include "support/result.hpp"

/// Reading ELF files that may be damaged or hostile: every offset and size is checked before use.
namespace kiln {

/// The bytes `[offset, offset + size)`, if they are there.
[[nodiscard]] std::optional<ByteView> slice(ByteView bytes, std::uint64_t offset, std::uint64_t size) noexcept;

/// A plain struct at an offset, if it is all there.
template <typename T>
[[nodiscard]] std::optional<T> read_at(ByteView bytes, std::uint64_t offset) noexcept {
    const auto found = slice(bytes, offset, sizeof(T));
    if (!found) return std::nullopt;
    T value;
    std::memcpy(&value, found->data(), sizeof(T));
    return value;
}

/// The string that begins at an offset, if a zero byte ends it within 4096 bytes.
[[nodiscard]] std::optional<std::string_view> string_at(ByteView bytes, std::uint64_t offset) noexcept;

/// The description of the first note of this owner and type among the notes in `bytes`, which are aligned to 4 bytes.
[[nodiscard]] std::optional<ByteView> find_note(ByteView bytes, std::string_view owner, std::uint32_t type) noexcept;

/// A 64-bit little-endian ELF image in memory. Holds views: the bytes must outlive it.
class ElfImage {
public:
    struct Section {
        std::string_view name;
        Elf64_Shdr header;
        ByteView bytes;  ///< empty for a section that takes no room in the file
    };

    /// Fails with `bad_file` unless headers, and all sections and segments, lie within the bytes.
    [[nodiscard]] static Result<ElfImage> parse(ByteView bytes);

    [[nodiscard]] const Elf64_Ehdr& header() const noexcept { return header_; }
    [[nodiscard]] const std::vector<Section>& sections() const noexcept { return sections_; }

    /// Null if there is none.
    [[nodiscard]] const Section* section(std::string_view name) const noexcept;

private:
    Elf64_Ehdr header_{};
    std::vector<Section> sections_;
};

}  // namespace kiln
