// SPDX-License-Identifier: Apache-2.0
#include "support/single_flight.hpp"

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace kiln;

namespace {

using Flights = SingleFlight<std::string, int>;

/// Lets the worker finish only once all others wait for it, as far as that can be known.
void give_others_time() {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace

TEST_CASE("equal work at the same time is done once") {
    Flights flights;
    std::atomic<int> done{0};
    std::atomic<int> joined{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            const auto outcome = flights.run("key", [&]() -> Result<int> {
                give_others_time();
                return ++done;
            });
            if (outcome.joined) ++joined;
            if (!outcome.result || *outcome.result != 1) done = 100;
        });
    }
    threads.clear();
    CHECK(done == 1);
    CHECK(joined == 7);
}

TEST_CASE("a failure reaches all who wait, log and all, and is not remembered") {
    Flights flights;
    std::atomic<int> told{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            const auto outcome = flights.run("key", []() -> Result<int> {
                give_others_time();
                return tl::unexpected(Failure{ErrorCode::compile_failed, "no", 6, "the whole log"});
            });
            if (!outcome.result && outcome.result.error().log == "the whole log" && outcome.result.error().native_code == 6)
                ++told;
        });
    }
    threads.clear();
    CHECK(told == 4);
    CHECK(*flights.run("key", []() -> Result<int> { return 5; }).result == 5);
}

TEST_CASE("an exception in the work is a failure for all, not a broken promise") {
    Flights flights;
    const auto thrown = flights.run("key", []() -> Result<int> { throw std::runtime_error("thrown"); });
    CHECK(thrown.result.error().message == "thrown");
    CHECK(flights.run("key", []() -> Result<int> { throw std::bad_alloc(); }).result.error().code == ErrorCode::out_of_memory);
    CHECK(*flights.run("key", []() -> Result<int> { return 1; }).result == 1);
}

TEST_CASE("different keys do not wait for each other") {
    Flights flights;
    const auto outer = flights.run("a", [&]() -> Result<int> {
        int inner = 0;
        std::jthread([&] { inner = *flights.run("b", []() -> Result<int> { return 2; }).result; }).join();
        return inner;
    });
    CHECK(*outer.result == 2);
}
