// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <variant>

#include "cache/byte_lock.hpp"
#include "cache/entry.hpp"
#include "cache/key.hpp"
#include "cache/own_directory.hpp"

namespace kiln {

/// How long processes wait for one another. Tests use shorter times.
struct Patience {
    std::chrono::milliseconds first_poll{1};
    std::chrono::milliseconds longest_poll{50};
    std::chrono::milliseconds takeover_after{20'000};
};

/// The right to compile a key, so that of all processes that want it at once one compiles and the others take its entry.
///
/// A process that gets its turn looks again for the entry before it compiles. One that waits polls for the lock and for the
/// entry. A holder that is killed releases its lock. One that is stopped does not, so after `takeover_after` the waiters contend
/// for another byte, whose holder compiles too; if that one is stopped as well, for a third, and so on: each stopped process
/// costs one more compile, and nobody waits for ever. Where locks do not work everyone's turn is now.
class CompileTurn {
public:
    /// Looks for the entry in the directory; nothing if it is not there.
    using Look = std::function<std::optional<Entry>()>;

    /// The entry that another process has made meanwhile, or the turn.
    [[nodiscard]] static std::variant<CompileTurn, Entry> wait(const OwnDirectory& directory, const Key& key, const Look& look,
                                                               const Patience& patience);

    /// A turn that holds nothing, for caches that are not shared with other processes.
    CompileTurn() noexcept = default;

private:
    explicit CompileTurn(ByteLock lock) noexcept : lock_(std::move(lock)) {}
    std::optional<ByteLock> lock_;
};

}  // namespace kiln
