// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

namespace kiln::jit {

/// The directories that the dynamic linker searches on behalf of the program or library that holds this code, near enough in its
/// order. (It offers no way to ask where it would find a library without loading it.)
[[nodiscard]] std::vector<std::filesystem::path> linker_directories();

/// Those that a file in the grammar of /etc/ld.so.conf names, its `include` patterns followed.
[[nodiscard]] std::vector<std::filesystem::path> directories_of_configuration(const std::filesystem::path& file);

}  // namespace kiln::jit
