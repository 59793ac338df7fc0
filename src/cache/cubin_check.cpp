// SPDX-License-Identifier: Apache-2.0
#include "cache/cubin_check.hpp"

#include <fmt/format.h>

#include "cache/kernel_request.hpp"
#include "driver/cubin.hpp"

namespace kiln {

std::string toolchain_of(ByteView cubin) {
    const auto info = driver::inspect_cubin(cubin, kernel_function_name);
    return info ? info->toolchain : std::string();
}

std::string objection_to_cubin(ByteView cubin, std::string_view arch) {
    const auto info = driver::inspect_cubin(cubin, kernel_function_name);
    if (!info) return info.error().message;
    if (info->arch != arch) return fmt::format("a cubin for {}, not for {}", info->arch, arch);
    return {};
}

}  // namespace kiln
