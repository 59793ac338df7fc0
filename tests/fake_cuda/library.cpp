// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "driver/cubin.hpp"
#include "kernel.hpp"
#include "support/elf.hpp"

using fake_cuda::state;
using kiln::driver::inspect_cubin;

struct CUlib_st {
    std::vector<std::byte> image;
    std::map<std::string, std::unique_ptr<CUfunc_st>> kernels;
};

namespace {

/// The driver is given no length: a cubin says itself where it ends.
std::size_t length_of(const std::byte* image) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, SELFMAG);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    std::memcpy(&header, image, sizeof header);
    return std::max(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr), header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr));
}

/// Whether a GPU of this compute capability runs code for "sm_90a".
bool runs(const std::string& arch, int major, int minor) {
    const int number = std::stoi(arch.substr(3));
    const bool is_specific = arch.back() == 'a';
    if (is_specific) return number == major * 10 + minor;
    return number / 10 == major && number % 10 <= minor;
}

/// How many bytes the kernel's one parameter has: all parameters' (attribute 0x19 of its records, in form 3) less what lies in
/// front of it for its alignment (attribute 0x17, in form 4: its index, 32 bits; its number and where it is, 16 each).
std::size_t parameter_bytes(std::span<const std::byte> image, const std::string& kernel) {
    const auto elf = kiln::ElfImage::parse(image);
    const auto* records = elf ? elf->section(".nv.info." + kernel) : nullptr;
    if (records == nullptr) return 0;
    std::uint64_t offset = 0;
    std::size_t all_bytes = 0, first_byte = 0;
    while (const auto head = kiln::read_at<std::array<std::uint8_t, 2>>(records->bytes, offset)) {
        const auto value = kiln::read_at<std::uint16_t>(records->bytes, offset + 2).value_or(0);
        if (*head == std::array<std::uint8_t, 2>{3, 0x19}) all_bytes = value;
        if (*head == std::array<std::uint8_t, 2>{4, 0x17})
            first_byte = kiln::read_at<std::uint16_t>(records->bytes, offset + 10).value_or(0);
        offset += 4 + ((*head)[0] == 4 ? value : 0U);
    }
    return all_bytes - first_byte;
}

}  // namespace

FAKE_CUDA_EXPORT CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                                            CUlibraryOption*, void**, unsigned) {
    FAKE_CUDA_BEGIN(cuLibraryLoadData, no_capture);
    const auto* bytes = static_cast<const std::byte*>(code);
    const std::size_t length = length_of(bytes);
    if (length == 0) return CUDA_ERROR_INVALID_IMAGE;
    auto made = std::make_unique<CUlib_st>();
    made->image.assign(bytes, bytes + length);
    ++state().counters.libraries_loaded;
    *library = made.release();
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
    FAKE_CUDA_BEGIN(cuLibraryUnload, no_capture);
    delete library;
    ++state().counters.libraries_unloaded;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    FAKE_CUDA_BEGIN(cuLibraryGetKernel, context);
    auto& known = library->kernels[name];
    if (!known) {
        auto info = inspect_cubin(library->image, name);
        if (!info) return CUDA_ERROR_NOT_FOUND;
        const auto& settings = state().settings;
        if (!runs(info->arch, settings.major, settings.minor)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
        known = std::make_unique<CUfunc_st>();
        known->info = *info;
        known->parameter_bytes = parameter_bytes(library->image, name);
    }
    *kernel = reinterpret_cast<CUkernel>(known.get());
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    FAKE_CUDA_BEGIN(cuKernelGetFunction, no_capture);
    *function = reinterpret_cast<CUfunction>(kernel);
    return CUDA_SUCCESS;
}
