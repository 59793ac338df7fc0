// SPDX-License-Identifier: Apache-2.0
#include "driver/cubin.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "support/elf.hpp"

// NVIDIA does not describe the format; what stands here was read off the cubins of NVRTC 12.0, 12.9, 13.0 and 13.5 for every
// arch, and agrees with what cuobjdump prints.
//
//   e_ident[EI_ABIVERSION]  7: NVRTC 12 up to sm_90a; 8: NVRTC 12 from sm_100, and NVRTC 13
//   e_flags, ABI 7          bits 0-7 the arch's number, 0x800 the suffix `a`
//   e_flags, ABI 8          bits 8-15 the arch's number, 0x8 the suffix `a` from NVRTC 12; NVRTC 13 leaves the suffix to the note
//   .note.nv.tkinfo         (ABI 8) owner "NVIDIA Corp", type 2000: six words, of which the last four are offsets into the
//   strings that
//                           follow: the tool, "Cuda compilation tools, release 13.0, V13.0.88", its build, "-arch sm_90a "
//   .nv.info                records of all kernels, .nv.info.<kernel> of one. A record: a byte of form, a byte of attribute, then
//   a
//                           16-bit value or, in form 4, a 16-bit size and as many bytes. Of form 4, with words (symbol, value):
//                           0x2f registers, 0x11 frame bytes, 0x12 stack bytes with callees; 0x37 (version): CUDA's as 129
//   .nv.shared.<kernel>     its size: static shared memory, from sm_90 on with 1024 bytes that the system reserves
namespace kiln::driver {
namespace {

constexpr unsigned machine_cuda = 190;
constexpr std::int64_t reserved_shared_bytes = 1024;

/// The version and the arch in the toolkit's own note; views into the cubin.
struct ToolkitNote {
    std::string_view version;
    std::string_view arch;
};

ToolkitNote toolkit_note(const ElfImage& image) {
    const ElfImage::Section* section = image.section(".note.nv.tkinfo");
    const auto note = section == nullptr ? std::nullopt : find_note(section->bytes, "NVIDIA Corp", 2000);
    if (!note) return {};
    constexpr std::uint64_t strings = 6 * sizeof(std::uint32_t);
    const auto text = [&](std::uint64_t word) {
        const auto offset = read_at<std::uint32_t>(*note, word * sizeof(std::uint32_t));
        return offset ? string_at(*note, strings + *offset).value_or("") : "";
    };
    const auto after = [](std::string_view whole, std::string_view marker) {
        const auto found = whole.find(marker);
        if (found == std::string_view::npos) return std::string_view();
        const std::string_view rest = whole.substr(found + marker.size());
        return rest.substr(0, rest.find_first_of(" ,"));
    };
    return {after(text(3), ", V"), after(text(5), "-arch ")};
}

bool is_version(std::string_view text) {
    return !text.empty() && text.size() <= 20 && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// Calls `visit(attribute, value bytes)` for each record with a value of its own length; records that are cut short end the walk.
template <typename Visit>
void for_each_record(ByteView bytes, Visit visit) {
    std::uint64_t offset = 0;
    while (const auto form = read_at<std::uint8_t>(bytes, offset)) {
        const auto attribute = read_at<std::uint8_t>(bytes, offset + 1);
        const auto size = read_at<std::uint16_t>(bytes, offset + 2);
        if (!attribute || !size) return;
        offset += 4;
        if (*form != 4) continue;
        const auto value = slice(bytes, offset, *size);
        if (!value) return;
        visit(*attribute, *value);
        offset += *size;
    }
}

/// The kernel's index in the symbol table: a function of that name.
std::optional<std::uint32_t> symbol_index(const ElfImage& image, std::string_view kernel_name) {
    const ElfImage::Section* table = image.section(".symtab");
    if (table == nullptr || table->header.sh_link >= image.sections().size()) return std::nullopt;
    const ByteView names = image.sections()[table->header.sh_link].bytes;
    for (std::uint32_t i = 0;; ++i) {
        const auto symbol = read_at<Elf64_Sym>(table->bytes, i * std::uint64_t{sizeof(Elf64_Sym)});
        if (!symbol) return std::nullopt;
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && string_at(names, symbol->st_name) == kernel_name) return i;
    }
}

struct KernelRecords {
    std::optional<std::uint32_t> registers;
    std::uint32_t frame_bytes = 0;
    std::uint32_t cuda_version = 0;  ///< 129 is 12.9; 0 where it is not told
};

KernelRecords kernel_records(const ElfImage& image, std::string_view kernel_name, std::uint32_t symbol) {
    KernelRecords records;
    if (const auto* all = image.section(".nv.info")) {
        for_each_record(all->bytes, [&](std::uint8_t attribute, ByteView value) {
            const auto owner = read_at<std::uint32_t>(value, 0);
            const auto number = read_at<std::uint32_t>(value, 4);
            if (owner != symbol || !number) return;
            if (attribute == 0x2f) records.registers = *number;
            if (attribute == 0x11 || attribute == 0x12) records.frame_bytes = std::max(records.frame_bytes, *number);
        });
    }
    if (const auto* own = image.section(fmt::format(".nv.info.{}", kernel_name))) {
        for_each_record(own->bytes, [&](std::uint8_t attribute, ByteView value) {
            if (attribute == 0x37) records.cuda_version = read_at<std::uint32_t>(value, 0).value_or(0);
        });
    }
    return records;
}

struct ArchName {
    unsigned number = 0;
    std::string_view suffix;
};

/// The parts of a name such as "sm_90a".
std::optional<ArchName> parse_arch(std::string_view name) {
    ArchName arch;
    if (!name.starts_with("sm_")) return std::nullopt;
    const auto [rest, error] = std::from_chars(name.data() + 3, name.data() + name.size(), arch.number);
    arch.suffix = name.substr(static_cast<std::size_t>(rest - name.data()));
    const bool is_known = arch.suffix.empty() || arch.suffix == "a" || arch.suffix == "f";
    return error == std::errc{} && is_known ? std::optional(arch) : std::nullopt;
}

Result<ArchName> arch_of(const ElfImage& image, const ToolkitNote& note) {
    const unsigned abi = image.header().e_ident[EI_ABIVERSION];
    const unsigned flags = image.header().e_flags;
    if (abi != 7 && abi != 8) return fail(ErrorCode::bad_file, "a cubin of ABI version {}, which this Kiln does not know", abi);
    const unsigned number = abi == 7 ? flags & 0xffU : flags >> 8U & 0xffU;
    if (note.arch.empty()) {
        const bool is_specific = (flags & (abi == 7 ? 0x800U : 0x8U)) != 0;
        return ArchName{number, is_specific ? "a" : ""};
    }
    const auto noted = parse_arch(note.arch);
    if (!noted || noted->number != number) {
        return fail(ErrorCode::bad_file, "a cubin that contradicts itself: its header says sm_{}, its note {}", number,
                    note.arch);
    }
    return *noted;
}

}  // namespace

Result<CubinInfo> inspect_cubin(ByteView cubin, std::string_view kernel_name) {
    auto image = ElfImage::parse(cubin);
    if (!image) return pass_on(image);
    if (image->header().e_machine != machine_cuda) {
        return fail(ErrorCode::bad_file, "an ELF file for machine {}, not for CUDA ({})", image->header().e_machine,
                    machine_cuda);
    }
    const ToolkitNote note = toolkit_note(*image);
    auto arch = arch_of(*image, note);
    if (!arch) return pass_on(arch);

    const auto symbol = symbol_index(*image, kernel_name);
    if (!symbol || image->section(fmt::format(".text.{}", kernel_name)) == nullptr) {
        return fail(ErrorCode::bad_file, "a cubin without a kernel {}", kernel_name);
    }
    const KernelRecords records = kernel_records(*image, kernel_name, *symbol);
    constexpr std::uint32_t most_registers = 255;
    if (!records.registers || *records.registers > most_registers) {
        return fail(ErrorCode::bad_file, "a cubin that does not say how many registers {} takes", kernel_name);
    }

    CubinInfo info;
    info.arch = fmt::format("sm_{}{}", arch->number, arch->suffix);
    info.registers = static_cast<int>(*records.registers);
    info.local_bytes = records.frame_bytes;
    if (const auto* shared = image->section(fmt::format(".nv.shared.{}", kernel_name))) {
        constexpr std::uint64_t most_shared_bytes = 1U << 30U;
        info.static_shared_bytes = static_cast<std::int64_t>(std::min(shared->header.sh_size, most_shared_bytes));
        if (arch->number >= 90)
            info.static_shared_bytes = std::max<std::int64_t>(0, info.static_shared_bytes - reserved_shared_bytes);
    }
    if (is_version(note.version)) {
        info.toolchain = note.version;
    } else if (records.cuda_version != 0) {
        info.toolchain = fmt::format("{}.{}", records.cuda_version / 10, records.cuda_version % 10);
    }
    return info;
}

}  // namespace kiln::driver
