// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/bytes.hpp"
#include "support/result.hpp"

namespace kiln::driver {

/// What a cubin says about itself and one of its kernels. A plain value.
struct CubinInfo {
    std::string arch;                      ///< "sm_90a"
    int registers = 0;                     ///< per thread
    std::int64_t local_bytes = 0;          ///< per thread: spills and stack
    std::int64_t static_shared_bytes = 0;  ///< per block, without what the system reserves for itself
    std::string toolchain;                 ///< "13.0.88"; "12.9" where only that is told; empty where nothing is
};

/// Reads a cubin's own headers. Needs no driver; safe with any bytes; pure.
/// Fails with `bad_file` for what is not a whole 64-bit little-endian ELF file for CUDA that holds the kernel.
[[nodiscard]] Result<CubinInfo> inspect_cubin(ByteView cubin, std::string_view kernel_name);

}  // namespace kiln::driver
