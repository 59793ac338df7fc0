// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kiln {

/// Calls `body(index)` for every index below `count`, from up to `threads` threads (0: one per core), in no order.
/// Returns when all are done; the first exception of a body ends the rest and is thrown again here.
inline void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body, std::size_t threads = 0) {
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    threads = std::min(threads, count);

    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto work = [&] {
        try {
            for (std::size_t index = next++; index < count; index = next++) body(index);
        } catch (...) {
            next = count;
            const std::lock_guard lock(failure_mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> workers;
        for (std::size_t each = 1; each < threads; ++each) workers.emplace_back(work);
        work();
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace kiln
