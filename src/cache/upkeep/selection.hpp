// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cache/layer.hpp"

namespace kiln {

/// Which entries `prune` and `export` mean: those that satisfy every condition that is set.
struct Selection {
    std::optional<std::string> arch;             ///< "sm_90a"
    std::optional<std::string> toolchain;        ///< a version or its beginning: "13" and "13.0" select "13.0.88"
    std::optional<std::int64_t> unused_for_s;    ///< last used or written at least this long ago (to the hour)
    std::optional<std::int64_t> used_within_s;   ///< last used or written at most this long ago
    std::optional<std::uint64_t> minimum_bytes;  ///< of the entry
    std::optional<std::uint64_t> maximum_bytes;  ///< of the entry
    bool other_formats_only = false;             ///< entries of other versions of Kiln, which this one cannot read

    /// An entry whose head cannot be read has no arch and no toolchain, so a condition on these does not select it.
    [[nodiscard]] bool includes(const ListedEntry& entry, std::int64_t now_s) const;
};

}  // namespace kiln
