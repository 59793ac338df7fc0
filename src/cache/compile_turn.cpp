// SPDX-License-Identifier: Apache-2.0
#include "cache/compile_turn.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>

#include "cache/counters.hpp"
#include "support/hash.hpp"
#include "support/log.hpp"

namespace kiln {
namespace {

constexpr std::uint64_t half_of_all_bytes = std::uint64_t{1} << 62;

/// The byte of a key, and those that are contended for while its holder does not move: `attempt` 1, 2, …
/// Two keys may share one, which costs a wait and nothing else.
std::uint64_t byte_of(const Key& key, unsigned attempt) {
    const std::uint64_t place = parse_hash(key.name).value_or(Hash128()).low64() % half_of_all_bytes;
    return attempt == 0 ? place : half_of_all_bytes + (place + attempt) % (half_of_all_bytes - 1);
}

void say_once_that_locks_do_not_work(const std::string& path, const std::string& why) {
    static std::atomic<bool> said{false};
    if (said.exchange(true)) return;
    log::warning("locks do not work in {} ({}): processes that need the same kernel at the same time may each compile it", path,
                 why);
}

}  // namespace

std::variant<CompileTurn, Entry> CompileTurn::wait(const OwnDirectory& directory, const Key& key, const Look& look,
                                                   const Patience& patience) {
    using Clock = std::chrono::steady_clock;
    const auto waiting_since = Clock::now();
    auto contending_since = waiting_since;
    auto pause = patience.first_poll;
    bool waited = false;
    for (unsigned attempt = 0;;) {
        // Opened anew, because the directory may have been removed and made again meanwhile.
        const auto opened = directory.make();
        if (!opened) return CompileTurn();
        auto lock = ByteLock::try_acquire(opened->get(), byte_of(key, attempt));
        if (!lock) {
            say_once_that_locks_do_not_work(directory.path(), lock.error().message());
            return CompileTurn();
        }
        if (auto entry = look()) return std::move(*entry);
        if (*lock) {
            if (attempt > 0) {
                count(&Counters::takeovers);
                log::warning("kernel {}: whoever compiles it has not done so in {:.1f} s; compiling it here too", key.name,
                             std::chrono::duration<double>(Clock::now() - waiting_since).count());
            }
            return CompileTurn(std::move(**lock));
        }
        if (!waited) {
            waited = true;
            count(&Counters::waits);
            log::info("kernel {}: waiting for another process that compiles it", key.name);
        }
        if (Clock::now() - contending_since >= patience.takeover_after) {
            ++attempt;
            contending_since = Clock::now();
            continue;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, patience.longest_poll);
    }
}

}  // namespace kiln
