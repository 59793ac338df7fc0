// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::test {

/// A cubin without code: an ELF file with the facts that a real one states, for tests that need no compiler.
struct CubinFacts {
    int arch_number = 90;
    std::string arch_suffix = "a";
    std::string kernel = "kiln_forward";
    int registers = 40;
    int local_bytes = 0;
    int static_shared_bytes = 0;  ///< what the kernel declares; the 1024 bytes that sm_90 reserves are added
    int parameter_bytes = 64;
    std::string toolchain = "13.0.88";  ///< empty: no note
    std::string note_arch = {};         ///< what the note says, if not the same
    int abi_version = 8;                ///< 7: as NVRTC 12 writes it
    std::vector<std::byte> code = std::vector<std::byte>(128);
};
[[nodiscard]] std::vector<std::byte> build_cubin(const CubinFacts& facts = {});

}  // namespace kiln::test
