// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/configuration.hpp"
#include "support/result.hpp"

namespace kiln {

struct ImportResult {
    std::uint64_t imported = 0;
    std::uint64_t already_there = 0;  ///< equal entries in the user's directory
    struct Refused {
        std::string key_name;
        std::string why;
    };
    std::vector<Refused> refused;  ///< what failed a check: it was not taken in
};

/// Takes the entries of a bundle into the user's directory, and has them reach the disk.
///
/// Each is bounded in size, its file is named after its own key and never after anything that the bundle says, and its checksum,
/// key and cubin (an ELF file for CUDA, for the arch in the key, with a kernel of ours) are checked first. These checks find
/// accidents and keep nonsense from the driver; a cubin is code all the same, so whoever imports a bundle trusts its author.
[[nodiscard]] Result<ImportResult> import_bundle(const CacheConfiguration& configuration, const std::string& path);

}  // namespace kiln
