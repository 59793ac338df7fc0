// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <kiln/report.hpp>

#include "cache/configuration.hpp"

namespace kiln {

struct Amount {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
};

/// What one place holds.
struct PlaceStats {
    std::string path;
    Origin origin = Origin::user;
    std::string problem;  ///< why it cannot be used; empty if it can, or if the user's directory is not there yet
    Amount all;
    Amount damaged;         ///< heads that cannot be read; `verify` looks deeper
    Amount other_versions;  ///< of Kiln
    std::map<std::string, Amount> by_arch;
    std::map<std::string, Amount> by_toolchain;
    std::int64_t oldest_use_s = 0;  ///< seconds since 1970; 0 if there are no entries
    std::int64_t newest_use_s = 0;
};

/// The layers in order, then the user's directory. Reads 4 KB of each entry.
[[nodiscard]] std::vector<PlaceStats> directory_stats(const CacheConfiguration& configuration);

}  // namespace kiln
