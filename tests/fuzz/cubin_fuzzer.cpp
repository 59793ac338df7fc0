// SPDX-License-Identifier: Apache-2.0
// Any bytes as a cubin: refused as a bad file, or described within bounds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "driver/cubin.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto info = kiln::driver::inspect_cubin(std::as_bytes(std::span(data, size)), "kiln_forward");
    if (!info) {
        if (info.error().code != kiln::ErrorCode::bad_file || info.error().message.empty()) std::abort();
        return 0;
    }
    const bool is_within_bounds = info->arch.starts_with("sm_") && info->arch.size() <= 8 && info->registers >= 0 &&
                                  info->registers <= 255 && info->local_bytes >= 0 && info->static_shared_bytes >= 0;
    if (!is_within_bounds || info->toolchain.find_first_not_of("0123456789.") != std::string::npos) std::abort();
    return 0;
}
