// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace kiln {

/// What a sweep of a directory found and did.
struct SweepResult {
    std::uint64_t entries = 0;  ///< before
    std::uint64_t bytes = 0;
    std::uint64_t evicted = 0;
    std::uint64_t evicted_bytes = 0;
    std::uint64_t temporaries_removed = 0;
};

/// Removes what was used longest ago until at most `target_bytes` are left, if there are more than `maximum_bytes`; and
/// temporaries that a writer left behind more than an hour ago.
///
/// Only names of our grammar are touched (cache/layout.hpp). Safe against readers, who have the file open, and against writers:
/// an entry that was written or used meanwhile is left alone. Failures are passed over. A time in the future, as after a clock
/// was set back, counts as long ago: a hit would have put it right.
[[nodiscard]] SweepResult sweep(int directory, std::uint64_t maximum_bytes, std::uint64_t target_bytes);

/// Keeps a directory under its size: sweeps it at the first publish of this process and after each further 1 % of the maximum,
/// down to 90 %. Thread safe.
class SizeLimit {
public:
    explicit SizeLimit(std::uint64_t maximum_bytes) noexcept : maximum_bytes_(maximum_bytes) {}

    /// An entry of this size has been written. A maximum of 0 means no limit.
    void after_publish(int directory, std::uint64_t bytes);

private:
    const std::uint64_t maximum_bytes_;
    std::atomic<bool> swept_{false};
    std::atomic<std::uint64_t> bytes_since_sweep_{0};
};

}  // namespace kiln
