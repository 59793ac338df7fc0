// SPDX-License-Identifier: Apache-2.0
#include "support/cubin_builder.hpp"

#include <elf.h>

#include <cstring>

namespace kiln::test {
namespace {

/// Bytes that grow, and where in them things were put.
class Writer {
public:
    template <typename T>
    void put(const T& value) {
        const auto* begin = reinterpret_cast<const std::byte*>(&value);
        bytes.insert(bytes.end(), begin, begin + sizeof value);
    }
    /// With its zero byte; returns where it begins.
    std::uint32_t put_string(const std::string& text) {
        const auto offset = static_cast<std::uint32_t>(bytes.size());
        for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
        bytes.push_back(std::byte{0});
        return offset;
    }
    void align(std::size_t to) {
        while (bytes.size() % to != 0) bytes.push_back(std::byte{0});
    }
    std::vector<std::byte> bytes;
};

struct Section {
    std::string name;
    std::uint32_t type = SHT_PROGBITS;
    std::vector<std::byte> bytes;
    std::uint64_t size_without_bytes = 0;
    std::uint32_t link = 0;
};

std::string arch_name(const CubinFacts& facts) {
    return "sm_" + std::to_string(facts.arch_number) + facts.arch_suffix;
}

std::vector<std::byte> toolkit_note(const CubinFacts& facts) {
    Writer strings;
    strings.put_string("");
    const std::uint32_t tool = strings.put_string("ptxas");
    const std::uint32_t version = strings.put_string("Cuda compilation tools, release 13.0, V" + facts.toolchain);
    const std::uint32_t build = strings.put_string("Build");
    const std::uint32_t arch =
        strings.put_string("-arch " + (facts.note_arch.empty() ? arch_name(facts) : facts.note_arch) + " ");
    Writer note;
    note.put(Elf64_Nhdr{12, static_cast<Elf64_Word>(24 + strings.bytes.size()), 2000});
    note.put_string("NVIDIA Corp");
    for (const std::uint32_t word : {2U, 0U, tool, version, build, arch}) note.put(word);
    note.bytes.insert(note.bytes.end(), strings.bytes.begin(), strings.bytes.end());
    note.align(4);
    return note.bytes;
}

void put_record(Writer& writer, std::uint8_t attribute, std::uint32_t symbol, int value) {
    writer.put(std::uint8_t{4});
    writer.put(attribute);
    writer.put(std::uint16_t{8});
    writer.put(symbol);
    writer.put(value);
}

std::vector<Section> sections_of(const CubinFacts& facts) {
    constexpr std::uint32_t kernel_symbol = 1;
    Writer names;
    names.put_string("");
    const std::uint32_t kernel_name = names.put_string(facts.kernel);
    Writer symbols;
    symbols.put(Elf64_Sym{});
    symbols.put(Elf64_Sym{kernel_name, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0x10, 6, 0, 128});
    Writer all;
    put_record(all, 0x2f, kernel_symbol, facts.registers);
    put_record(all, 0x11, kernel_symbol, facts.local_bytes);
    put_record(all, 0x12, kernel_symbol, facts.local_bytes);
    Writer own;
    own.put(std::uint32_t{0x00043704});  // form 4, CUDA's version
    own.put(std::uint32_t{129});
    own.put(static_cast<std::uint32_t>(0x1903 | facts.parameter_bytes << 16));  // form 3, bytes of parameters

    std::vector<Section> sections{{"", SHT_NULL, {}, 0, 0},
                                  {".shstrtab", SHT_STRTAB, {}, 0, 0},
                                  {".strtab", SHT_STRTAB, names.bytes, 0, 0},
                                  {".symtab", SHT_SYMTAB, symbols.bytes, 0, 2},
                                  {".nv.info", SHT_LOPROC, all.bytes, 0, 3},
                                  {".nv.info." + facts.kernel, SHT_LOPROC, own.bytes, 0, 3},
                                  {".text." + facts.kernel, SHT_PROGBITS, facts.code, 0, 3}};
    const int reserved = facts.arch_number >= 90 ? 1024 : 0;
    const auto shared_bytes = static_cast<std::uint64_t>(facts.static_shared_bytes + reserved);
    if (shared_bytes > 0) sections.push_back({".nv.shared." + facts.kernel, SHT_NOBITS, {}, shared_bytes, 0});
    if (facts.abi_version == 8 && !facts.toolchain.empty()) {
        sections.push_back({".note.nv.tkinfo", SHT_NOTE, toolkit_note(facts), 0, 0});
    }
    return sections;
}

}  // namespace

std::vector<std::byte> build_cubin(const CubinFacts& facts) {
    std::vector<Section> sections = sections_of(facts);
    Writer section_names;
    std::vector<std::uint32_t> name_offsets;
    for (const Section& each : sections) name_offsets.push_back(section_names.put_string(each.name));
    sections[1].bytes = section_names.bytes;

    Writer file;
    file.put(Elf64_Ehdr{});
    std::vector<Elf64_Shdr> table;
    for (std::size_t i = 0; i < sections.size(); ++i) {
        file.align(8);
        Elf64_Shdr header{};
        header.sh_name = name_offsets[i];
        header.sh_type = sections[i].type;
        header.sh_offset = file.bytes.size();
        header.sh_size = sections[i].bytes.empty() ? sections[i].size_without_bytes : sections[i].bytes.size();
        header.sh_link = sections[i].link;
        table.push_back(header);
        file.bytes.insert(file.bytes.end(), sections[i].bytes.begin(), sections[i].bytes.end());
    }
    file.align(8);

    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_ident[EI_OSABI] = facts.abi_version == 7 ? 0x33 : 0x41;
    header.e_ident[EI_ABIVERSION] = static_cast<unsigned char>(facts.abi_version);
    header.e_type = ET_EXEC;
    header.e_machine = 190;
    header.e_version = 1;
    const bool is_specific = facts.arch_suffix == "a";
    const auto number = static_cast<std::uint32_t>(facts.arch_number);
    header.e_flags = facts.abi_version == 7 ? number | (is_specific ? 0x800U : 0U) : number << 8U | (is_specific ? 0x8U : 0U);
    header.e_ehsize = sizeof header;
    header.e_shoff = file.bytes.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(table.size());
    header.e_shstrndx = 1;
    std::memcpy(file.bytes.data(), &header, sizeof header);
    for (const Elf64_Shdr& each : table) file.put(each);
    return file.bytes;
}

}  // namespace kiln::test
