// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <kiln/export.hpp>

namespace kiln {

/// Where a kernel came from.
enum class Origin {
    compiled,  ///< by NVRTC, just now
    memory,    ///< this process had it
    user,      ///< the user's cache directory
    layer,     ///< a read-only directory of `KILN_CACHE_LAYERS`
    bundle,    ///< a bundle file of `KILN_CACHE_LAYERS`
};

/// The origin's name as written above: "compiled".
[[nodiscard]] KILN_API std::string_view to_string(Origin origin) noexcept;

/// What is known about one kernel. A plain value.
struct KernelReport {
    std::string family = {};  ///< "simt"
    std::string tile = {};    ///< its tile, for people: "positions=128,filters=64"
    std::string arch = {};    ///< "sm_90a"
    std::string key = {};     ///< 32 hexadecimal digits: the entry's name in the cache
    Origin origin = Origin::compiled;
    std::string miss_reason = {};    ///< for a compile: why nothing matched; empty for a hit
    double compile_ms = 0;           ///< NVRTC's time, its loading included; 0 for a hit
    double load_ms = 0;              ///< the driver's time to load the cubin; 0 if not loaded or shared
    int registers = 0;               ///< per thread
    std::int64_t spilled_bytes = 0;  ///< local memory per thread
    std::int64_t shared_bytes = 0;   ///< per block: static, and dynamic where the plan fixes it
    std::int64_t cubin_bytes = 0;
    std::string toolchain = {};  ///< what built the cubin, from its own note; empty where it has none
    std::string note = {};       ///< what a user should know: "math = tf32 means fp32 here: …"
};

}  // namespace kiln
