// SPDX-License-Identifier: Apache-2.0
#include "cache/counters.hpp"

#include <memory>

#include "support/process_local.hpp"

namespace kiln {
namespace {

/// Never destroyed: models may still count while static objects go.
Counters& counters() {
    static auto* const all = new ProcessLocal<Counters>([] { return std::make_unique<Counters>(); });
    return all->get();
}

}  // namespace

void count(Counters::Counter Counters::*which, std::uint64_t amount) noexcept {
    (counters().*which).fetch_add(amount, std::memory_order_relaxed);
}

void count_hit(Origin origin) noexcept {
    switch (origin) {
        case Origin::compiled: break;
        case Origin::memory: count(&Counters::hits_memory); break;
        case Origin::user: count(&Counters::hits_user); break;
        case Origin::layer: count(&Counters::hits_layer); break;
        case Origin::bundle: count(&Counters::hits_bundle); break;
    }
}

void count_miss(MissReason reason) noexcept {
    switch (reason) {
        case MissReason::absent: count(&Counters::missed_absent); break;
        case MissReason::damaged: count(&Counters::missed_damaged); break;
        case MissReason::other_version: count(&Counters::missed_other_version); break;
        case MissReason::other_key: count(&Counters::missed_other_key); break;
        case MissReason::refused: count(&Counters::missed_refused); break;
        case MissReason::untrusted: count(&Counters::missed_untrusted); break;
        case MissReason::unreadable: count(&Counters::missed_unreadable); break;
    }
}

void count_loaded_hit() noexcept {
    count(&Counters::requests);
    count(&Counters::hits_loaded);
}

void count_shared_failure() noexcept {
    count(&Counters::requests);
    count(&Counters::shared_failures);
}

CacheStats cache_stats() noexcept {
    const Counters& now = counters();
    CacheStats stats;
    stats.requests = now.requests;
    stats.hits = {now.hits_loaded, now.hits_memory, now.hits_layer, now.hits_bundle, now.hits_user};
    stats.misses = {now.missed_absent,  now.missed_damaged,   now.missed_other_version, now.missed_other_key,
                    now.missed_refused, now.missed_untrusted, now.missed_unreadable};
    stats.compiled = now.compiled;
    stats.compile_failures = now.compile_failures;
    stats.strict = now.strict;
    stats.shared_failures = now.shared_failures;
    stats.waits = now.waits;
    stats.takeovers = now.takeovers;
    stats.damaged = now.damaged;
    stats.refused = now.refused;
    stats.published = now.published;
    stats.publish_failures = now.publish_failures;
    stats.evicted = now.evicted;
    stats.evicted_bytes = now.evicted_bytes;
    return stats;
}

}  // namespace kiln
