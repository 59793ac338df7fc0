// SPDX-License-Identifier: Apache-2.0
#include "support/parallel.hpp"

#include <stdexcept>

#include "support/catch.hpp"

using namespace kiln;

TEST_CASE("every index is visited once, with any number of threads") {
    for (const std::size_t threads : {0U, 1U, 3U, 64U}) {
        for (const std::size_t count : {0U, 1U, 7U, 1000U}) {
            std::vector<std::atomic<int>> visits(count);
            parallel_for(
                count, [&](std::size_t index) { ++visits[index]; }, threads);
            for (const auto& each : visits) CHECK(each == 1);
        }
    }
}

TEST_CASE("the first exception of a body ends the rest and is thrown to the caller") {
    std::atomic<int> begun{0};
    const auto body = [&](std::size_t) {
        ++begun;
        throw std::runtime_error("body");
    };
    CHECK_THROWS_AS(parallel_for(100000, body, 4), std::runtime_error);
    CHECK(begun <= 4);
}
