// SPDX-License-Identifier: Apache-2.0
#include "support/process_local.hpp"

#include <pthread.h>

namespace kiln {
namespace {

std::atomic<unsigned> generation{0};

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1); });

}  // namespace

unsigned fork_generation() noexcept {
    return generation.load(std::memory_order_relaxed);
}

}  // namespace kiln
