// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <kiln/cache.hpp>
#include <kiln/report.hpp>

#include "cache/miss.hpp"

namespace kiln {

/// What `CacheStats` is made from. One per process.
struct Counters {
    using Counter = std::atomic<std::uint64_t>;

    Counter requests{0};
    Counter hits_loaded{0}, hits_memory{0}, hits_layer{0}, hits_bundle{0}, hits_user{0};
    Counter missed_absent{0}, missed_damaged{0}, missed_other_version{0}, missed_other_key{0}, missed_refused{0},
        missed_untrusted{0}, missed_unreadable{0};
    Counter compiled{0}, compile_failures{0}, strict{0}, shared_failures{0};
    Counter waits{0}, takeovers{0}, damaged{0}, refused{0}, published{0}, publish_failures{0}, evicted{0}, evicted_bytes{0};
};

/// `count(&Counters::waits);`
void count(Counters::Counter Counters::*which, std::uint64_t amount = 1) noexcept;

void count_hit(Origin origin) noexcept;
void count_miss(MissReason reason) noexcept;

/// A model that shares a kernel which is already loaded: a request of its own, and a hit.
void count_loaded_hit() noexcept;

/// A model that waited for the load of another, which failed.
void count_shared_failure() noexcept;

}  // namespace kiln
