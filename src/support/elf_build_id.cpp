// SPDX-License-Identifier: Apache-2.0
#include "support/elf_build_id.hpp"

#include <iterator>

#include "support/elf.hpp"
#include "support/files.hpp"

namespace kiln {
namespace {

constexpr std::uint64_t most_note_bytes = 1U << 20U;  // a bound for damaged files: real ones have less than a hundred

/// Part of a file; empty where it has no such part.
Bytes part(int file, std::uint64_t offset, std::uint64_t size) {
    Bytes bytes(size);
    const auto done = read_at(file, bytes, offset);
    if (!done || *done != size) bytes.clear();
    return bytes;
}

std::string hexadecimal(ByteView bytes) {
    std::string text;
    for (const std::byte each : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned>(each));
    return text;
}

}  // namespace

Result<std::string> elf_build_id(const std::string& path) {
    const auto file = open_at(AT_FDCWD, path, O_RDONLY);
    if (!file) return fail(ErrorCode::bad_file, "{}: {}", path, file.error().message());
    const auto header = read_at<Elf64_Ehdr>(part(file->get(), 0, sizeof(Elf64_Ehdr)), 0);
    const bool is_elf = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64;
    if (!is_elf || header->e_phentsize != sizeof(Elf64_Phdr)) return fail(ErrorCode::bad_file, "{}: not a 64-bit ELF file", path);

    const auto segments = part(file->get(), header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr));
    for (std::uint64_t i = 0; const auto segment = read_at<Elf64_Phdr>(segments, i * sizeof(Elf64_Phdr)); ++i) {
        if (segment->p_type != PT_NOTE || segment->p_filesz > most_note_bytes) continue;
        const auto notes = part(file->get(), segment->p_offset, segment->p_filesz);
        if (const auto id = find_note(notes, "GNU", NT_GNU_BUILD_ID)) return hexadecimal(*id);
    }
    return fail(ErrorCode::bad_file, "{}: it has no build-id", path);
}

}  // namespace kiln
