// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "support/result.hpp"

namespace kiln {

/// The GNU build-id of an ELF file in hexadecimal, read without loading it: a few hundred bytes of a file that may be large.
/// Fails with `bad_file` for what is not a 64-bit ELF file with a build-id.
[[nodiscard]] Result<std::string> elf_build_id(const std::string& path);

}  // namespace kiln
