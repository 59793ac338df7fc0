// SPDX-License-Identifier: Apache-2.0
#include "support/elf.hpp"

#include <algorithm>

namespace kiln {
namespace {

/// A name is never near this long; without a bound, a table of names that all begin in one long string takes quadratic time.
constexpr std::uint64_t longest_string = 4096;

tl::unexpected<Failure> not_elf(std::string_view why) {
    return fail(ErrorCode::bad_file, "not a whole ELF file: {}", why);
}

bool is_elf64_little_endian(const Elf64_Ehdr& header) {
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == ELFDATA2LSB;
}

bool segments_are_inside(ByteView bytes, const Elf64_Ehdr& header) {
    if (header.e_phnum == 0) return true;
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > bytes.size()) return false;
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
        const auto segment = read_at<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
        if (!segment || !slice(bytes, segment->p_offset, segment->p_filesz)) return false;
    }
    return true;
}

}  // namespace

std::optional<ByteView> slice(ByteView bytes, std::uint64_t offset, std::uint64_t size) noexcept {
    if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
    return bytes.subspan(offset, size);
}

std::optional<std::string_view> string_at(ByteView bytes, std::uint64_t offset) noexcept {
    if (offset >= bytes.size()) return std::nullopt;
    const ByteView rest = bytes.subspan(offset, std::min<std::uint64_t>(bytes.size() - offset, longest_string));
    const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
    if (end == rest.end()) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.begin()));
}

std::optional<ByteView> find_note(ByteView bytes, std::string_view owner, std::uint32_t type) noexcept {
    const auto aligned = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
    std::uint64_t offset = 0;
    while (const auto note = read_at<Elf64_Nhdr>(bytes, offset)) {
        const std::uint64_t name_offset = offset + sizeof(Elf64_Nhdr);
        const std::uint64_t description_offset = name_offset + aligned(note->n_namesz);
        const auto name = slice(bytes, name_offset, note->n_namesz);
        const auto description = slice(bytes, description_offset, note->n_descsz);
        if (!name || !description) return std::nullopt;
        if (note->n_type == type && string_at(*name, 0) == owner) return description;
        offset = description_offset + aligned(note->n_descsz);
    }
    return std::nullopt;
}

Result<ElfImage> ElfImage::parse(ByteView bytes) {
    const auto header = read_at<Elf64_Ehdr>(bytes, 0);
    if (!header || !is_elf64_little_endian(*header)) return not_elf("it does not begin as a 64-bit little-endian one");
    if (!segments_are_inside(bytes, *header)) return not_elf("a segment lies outside");

    ElfImage image;
    image.header_ = *header;
    if (header->e_shnum == 0) return image;
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum)
        return not_elf("its section table is odd");
    if (header->e_shoff > bytes.size()) return not_elf("its section table lies outside");  // so that the sums below cannot wrap
    const auto section_header = [&](std::uint64_t index) {
        return read_at<Elf64_Shdr>(bytes, header->e_shoff + index * sizeof(Elf64_Shdr));
    };
    const auto names_header = section_header(header->e_shstrndx);
    const auto names = names_header ? slice(bytes, names_header->sh_offset, names_header->sh_size) : std::nullopt;
    if (!names) return not_elf("its section names lie outside");
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
        const auto each = section_header(i);
        if (!each) return not_elf("its section table lies outside");
        const bool is_in_file = each->sh_type != SHT_NULL && each->sh_type != SHT_NOBITS;
        auto content = is_in_file ? slice(bytes, each->sh_offset, each->sh_size) : ByteView();
        // A processor has types of its own that take no room in the file; a reader that wants such a section finds it empty.
        if (!content && each->sh_type >= SHT_LOPROC && each->sh_type <= SHT_HIPROC) content = ByteView();
        const auto name = string_at(*names, each->sh_name);
        if (!content || !name) return not_elf("a section lies outside");
        image.sections_.push_back({*name, *each, *content});
    }
    return image;
}

const ElfImage::Section* ElfImage::section(std::string_view name) const noexcept {
    const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const Section& each) { return each.name == name; });
    return found == sections_.end() ? nullptr : &*found;
}

}  // namespace kiln
