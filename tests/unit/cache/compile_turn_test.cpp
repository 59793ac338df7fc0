// SPDX-License-Identifier: Apache-2.0
#include "cache/compile_turn.hpp"

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "cache/counters.hpp"
#include "support/catch.hpp"
#include "support/sample_kernel.hpp"

using namespace kiln;
using namespace std::chrono_literals;
using test::configuration_in;
using test::TemporaryDirectory;

namespace {

// Two threads stand for two processes: a byte that one holds is not free for the other either.
const Patience impatient{1ms, 5ms, 100ms};

std::optional<Entry> nothing() {
    return std::nullopt;
}

bool is_turn(const std::variant<CompileTurn, Entry>& outcome) {
    return std::holds_alternative<CompileTurn>(outcome);
}

Key sample_key() {
    return make_key(test::sample_request());
}

}  // namespace

TEST_CASE("the turn comes at once where nobody compiles, unless the entry is there") {
    const TemporaryDirectory temporary;
    const OwnDirectory directory(configuration_in(temporary));
    CHECK(is_turn(CompileTurn::wait(directory, sample_key(), nothing, impatient)));
    const auto outcome = CompileTurn::wait(
        directory, sample_key(),
        [] {
            return Entry{sample_key(), {}, {}};
        },
        impatient);
    CHECK_FALSE(is_turn(outcome));
}

TEST_CASE("who waits takes the entry as soon as it appears, though the turn is still taken") {
    const TemporaryDirectory temporary;
    const OwnDirectory directory(configuration_in(temporary));
    const auto held = CompileTurn::wait(directory, sample_key(), nothing, impatient);
    int looks = 0;
    const auto look = [&]() -> std::optional<Entry> {
        if (++looks < 4) return std::nullopt;
        return Entry{sample_key(), {}, {}};
    };
    CHECK_FALSE(is_turn(CompileTurn::wait(directory, sample_key(), look, impatient)));
    CHECK(looks == 4);
}

TEST_CASE("who waits gets the turn when it is given back, long before any takeover") {
    const TemporaryDirectory temporary;
    const OwnDirectory directory(configuration_in(temporary));
    std::optional<std::variant<CompileTurn, Entry>> held = CompileTurn::wait(directory, sample_key(), nothing, impatient);
    const std::jthread gives_back([&] {
        std::this_thread::sleep_for(30ms);
        held.reset();
    });
    const auto takeovers = cache_stats().takeovers;
    CHECK(is_turn(CompileTurn::wait(directory, sample_key(), nothing, {1ms, 5ms, 60s})));
    CHECK(cache_stats().takeovers == takeovers);
}

TEST_CASE("a holder that does not move is taken over from by one, and that one by the next") {
    const TemporaryDirectory temporary;
    const OwnDirectory directory(configuration_in(temporary));
    const auto before = cache_stats();
    const auto stopped = CompileTurn::wait(directory, sample_key(), nothing, impatient);
    const auto begin = std::chrono::steady_clock::now();
    const auto second = CompileTurn::wait(directory, sample_key(), nothing, impatient);
    CHECK(is_turn(second));
    CHECK(std::chrono::steady_clock::now() - begin >= 100ms);
    const auto third = CompileTurn::wait(directory, sample_key(), nothing, impatient);
    CHECK(is_turn(third));
    CHECK(std::chrono::steady_clock::now() - begin >= 300ms);
    CHECK(cache_stats().takeovers == before.takeovers + 2);
    CHECK(cache_stats().waits == before.waits + 2);
}

TEST_CASE("of many who wait for a holder that does not move, one takes over at a time") {
    const TemporaryDirectory temporary;
    const OwnDirectory directory(configuration_in(temporary));
    const auto stopped = CompileTurn::wait(directory, sample_key(), nothing, impatient);
    std::atomic<bool> is_there{false};
    std::atomic<int> compiles{0};
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 8; ++i) {
        waiters.emplace_back([&] {
            const auto look = [&]() -> std::optional<Entry> {
                if (!is_there) return std::nullopt;
                return Entry{sample_key(), {}, {}};
            };
            const auto outcome = CompileTurn::wait(directory, sample_key(), look, impatient);
            if (!is_turn(outcome)) return;
            ++compiles;
            std::this_thread::sleep_for(20ms);
            is_there = true;
        });
    }
    waiters.clear();
    CHECK(compiles == 1);
}

TEST_CASE("other keys have turns of their own") {
    const TemporaryDirectory temporary;
    const OwnDirectory directory(configuration_in(temporary));
    const auto held = CompileTurn::wait(directory, sample_key(), nothing, impatient);
    const auto waits = cache_stats().waits;
    CHECK(is_turn(CompileTurn::wait(directory, make_key(test::sample_request(1)), nothing, impatient)));
    CHECK(cache_stats().waits == waits);
}

TEST_CASE("where locks do not work it is everybody's turn") {
    const TemporaryDirectory temporary;
    const OwnDirectory directory(configuration_in(temporary));
    REQUIRE(directory.make());
    std::filesystem::create_directory(directory.path() + "/lock");
    const auto first = CompileTurn::wait(directory, sample_key(), nothing, impatient);
    const auto second = CompileTurn::wait(directory, sample_key(), nothing, impatient);
    CHECK((is_turn(first) && is_turn(second)));
    const auto unusable = CompileTurn::wait(OwnDirectory(configuration_in("/dev/null")), sample_key(), nothing, impatient);
    CHECK(is_turn(unusable));
}
