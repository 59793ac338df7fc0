// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cache/configuration.hpp"
#include "support/result.hpp"

namespace kiln {

/// Something that `verify` does not like.
struct VerifyProblem {
    std::string path;      ///< of the entry's file, the bundle, or the layer
    std::string key_name;  ///< empty where it is not about one entry
    std::string what;
    bool repaired = false;
};

struct VerifyResult {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    std::uint64_t other_versions = 0;  ///< entries of other versions of Kiln: no fault
    std::uint64_t problems = 0;
    std::uint64_t repaired = 0;  ///< of the problems: removed, so that the next compile puts a good entry in the place
};

/// Reads every entry of the user's directory and of the layers whole: checksum, name, key, and that the cubin is one for its
/// arch; and that bundles are whole. With `repair`, removes what is damaged from the user's directory; layers are read-only.
/// Fails only if the user's directory cannot be used, or `repair` is asked for and `KILN_CACHE` forbids to write to it.
[[nodiscard]] Result<VerifyResult> verify_cache(const CacheConfiguration& configuration, bool repair,
                                                const std::function<void(const VerifyProblem&)>& each = {});

}  // namespace kiln
