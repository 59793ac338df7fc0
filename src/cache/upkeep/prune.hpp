// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cache/configuration.hpp"
#include "cache/upkeep/selection.hpp"
#include "support/result.hpp"

namespace kiln {

struct PruneOptions {
    Selection selection;
    std::optional<std::uint64_t> target_bytes;  ///< remove what was used longest ago, until the directory is no larger than this
    bool dry_run = false;
};

struct PruneResult {
    std::uint64_t entries = 0;  ///< in the directory before
    std::uint64_t bytes = 0;
    std::uint64_t removed = 0;
    std::uint64_t removed_bytes = 0;
    std::uint64_t kept = 0;  ///< meant to be removed, and could not be
    std::string problem;     ///< why, or why there may be more entries than were seen; empty: neither
};

/// Removes the selected entries from the user's directory, all of them unless there is a target. `each` is called for what is
/// removed, or would be. Fails if the directory cannot be used, or `KILN_CACHE` forbids to write to it; one that is not there is
/// empty.
[[nodiscard]] Result<PruneResult> prune(const CacheConfiguration& configuration, const PruneOptions& options,
                                        const ListFunction& each = {});

/// Removes every entry and every temporary, whatever is in them, and nothing else.
[[nodiscard]] Result<PruneResult> clear(const CacheConfiguration& configuration);

}  // namespace kiln
