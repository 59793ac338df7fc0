// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cache/configuration.hpp"
#include "cache/upkeep/selection.hpp"
#include "support/result.hpp"

namespace kiln {

struct ExportResult {
    std::uint64_t entries = 0;
    std::uint64_t file_bytes = 0;
    std::uint64_t skipped = 0;  ///< selected entries that are damaged or of another version
};

/// Writes the selected entries of the user's directory into one bundle (cache/bundle.hpp), verified on the way, and has it reach
/// the disk. The file appears under its name whole or not at all; the same entries give the same bytes.
[[nodiscard]] Result<ExportResult> export_bundle(const CacheConfiguration& configuration, const Selection& selection,
                                                 const std::string& path);

}  // namespace kiln
