// SPDX-License-Identifier: Apache-2.0
#include "driver/fork.hpp"

#include <pthread.h>

namespace kiln::driver {
namespace {

/// How many calls of cuInit have begun and have not failed.
std::atomic<int> initialisations{0};

void after_fork_in_child() noexcept {
    if (initialisations.load() > 0) detail::is_forked_child.store(true);
}

[[maybe_unused]] const int is_watching = pthread_atfork(nullptr, nullptr, after_fork_in_child);

}  // namespace

std::atomic<bool> detail::is_forked_child{false};

tl::unexpected<Failure> fail_forked() {
    return fail(
        ErrorCode::forked,
        "the CUDA driver cannot be used in this process: it was initialised before fork(); fork first, or start the child "
        "with exec");
}

void note_initialisation() {
    initialisations.fetch_add(1);
}

void undo_initialisation() {
    initialisations.fetch_sub(1);
}

}  // namespace kiln::driver
