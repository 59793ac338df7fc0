// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/options.hpp>

#include "support/result.hpp"

namespace kiln {

/// `CacheOptions` with the environment and the defaults filled in. A plain value.
struct CacheConfiguration {
    std::string directory;            ///< absolute; empty where kernels can only be kept in memory
    std::string why_no_directory;     ///< then: what is wrong, and what to do about it
    bool directory_is_named = false;  ///< by an option or KILN_CACHE_DIR, so that KILN_CACHE_TRUST=any covers it
    CacheMode mode = CacheMode::read_write;
    std::vector<std::string> layers;                      ///< absolute, in the order of search
    std::uint64_t maximum_bytes = default_maximum_bytes;  ///< of the user's directory
    bool strict = false;
    ToolchainPolicy toolchain = ToolchainPolicy::any;
    bool trust_named_paths = false;  ///< KILN_CACHE_TRUST=any

    static constexpr std::uint64_t default_maximum_bytes = std::uint64_t{2} << 30;

    friend bool operator==(const CacheConfiguration&, const CacheConfiguration&) = default;
};

/// Answers with the value of a variable, or an empty string: `environment`, or a test's.
using EnvironmentLookup = std::function<std::string(const char* name)>;

/// Options first, then the environment, then the default, field by field. A variable that says nothing Kiln knows is an error
/// that names it; a home directory that cannot be used is none (`why_no_directory`).
[[nodiscard]] Result<CacheConfiguration> resolve(const CacheOptions& options, const EnvironmentLookup& look_up);
[[nodiscard]] Result<CacheConfiguration> resolve(const CacheOptions& options);

/// "2G": bytes, or K, M, G, T for powers of 1024 (also written Ki, KiB, KB …); no value for anything else.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text) noexcept;

}  // namespace kiln
