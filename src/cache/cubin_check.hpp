// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "support/bytes.hpp"

namespace kiln {

/// What built a cubin, from its own note; empty where it has none.
[[nodiscard]] std::string toolchain_of(ByteView cubin);

/// Why these bytes, which somebody else has made, must not reach the driver as a kernel for this arch; empty if they may.
/// They must be an ELF file for CUDA, built for that arch and with a kernel of ours in it. That does not make the code harmless.
[[nodiscard]] std::string objection_to_cubin(ByteView cubin, std::string_view arch);

}  // namespace kiln
