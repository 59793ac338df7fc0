// SPDX-License-Identifier: Apache-2.0
#include "support/process_local.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <mutex>

#include "support/catch.hpp"

using namespace kiln;

TEST_CASE("a forked child gets a value of its own, though the parent's is locked") {
    struct Guarded {
        std::mutex mutex;
        int number = 0;
    };
    ProcessLocal<Guarded> local([] { return std::make_unique<Guarded>(); });
    Guarded& parents = local.get();
    const std::lock_guard lock(parents.mutex);
    parents.number = 7;

    const pid_t child = fork();
    if (child == 0) {
        Guarded& own = local.get();
        const bool good = &own != &parents && own.mutex.try_lock() && own.number == 0 && &local.get() == &own;
        _exit(good ? 0 : 1);
    }
    int outcome = -1;
    REQUIRE(waitpid(child, &outcome, 0) == child);
    CHECK(outcome == 0);
    CHECK(&local.get() == &parents);
    CHECK(parents.number == 7);
}
