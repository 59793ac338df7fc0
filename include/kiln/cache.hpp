// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <kiln/export.hpp>

namespace kiln {

/// What the caches of this process have done since it began (a forked child begins anew). A plain value.
///
/// A request is one model or one kernel of a `warm` that asks for a kernel. Each request ends as exactly one of
///   a hit, a miss, or a failure that it shares with the request it waited for:  requests = hits + misses + shared_failures,
/// and each miss as exactly one of
///   a compile, a failed compile, or a refusal in strict mode:                    misses = compiled + compile_failures + strict.
struct CacheStats {
    std::uint64_t requests = 0;

    struct Hits {
        std::uint64_t loaded = 0;  ///< a kernel that the driver already had, shared with an equal model
        std::uint64_t memory = 0;  ///< a cubin that this process had, or that it was just getting for another model
        std::uint64_t layer = 0;   ///< a read-only directory
        std::uint64_t bundle = 0;  ///< a bundle
        std::uint64_t user = 0;    ///< the user's directory
    } hits;

    /// By what says most about why: damage in one place says more than absence in the others.
    struct Misses {
        std::uint64_t absent = 0;         ///< no place has an entry of that name
        std::uint64_t damaged = 0;        ///< cut or altered
        std::uint64_t other_version = 0;  ///< written by another version of Kiln
        std::uint64_t other_key = 0;      ///< another kernel under that name
        std::uint64_t refused = 0;        ///< this process's driver refused the cubin
        std::uint64_t untrusted = 0;      ///< somebody else could have written it
        std::uint64_t unreadable = 0;     ///< the system would not let us read it
    } misses;

    std::uint64_t compiled = 0;
    std::uint64_t compile_failures = 0;
    std::uint64_t strict = 0;           ///< misses that strict mode forbids to compile
    std::uint64_t shared_failures = 0;  ///< requests that waited in this process for one that failed

    std::uint64_t waits = 0;             ///< compiles that waited for another process
    std::uint64_t takeovers = 0;         ///< of those, the ones that gave up waiting and compiled too
    std::uint64_t damaged = 0;           ///< damaged entries that were met, also where another place had the kernel
    std::uint64_t refused = 0;           ///< cubins that the driver refused
    std::uint64_t published = 0;         ///< entries written
    std::uint64_t publish_failures = 0;  ///< entries that could not be written
    std::uint64_t evicted = 0;           ///< entries removed to keep the directory under its size
    std::uint64_t evicted_bytes = 0;
};

/// The counts so far. Thread safe; taken one by one, so they add up exactly only while nothing is going on.
[[nodiscard]] KILN_API CacheStats cache_stats() noexcept;

}  // namespace kiln
