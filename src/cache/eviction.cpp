// SPDX-License-Identifier: Apache-2.0
#include "cache/eviction.hpp"

#include <algorithm>
#include <ctime>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cache/counters.hpp"
#include "cache/entry_files.hpp"
#include "cache/layout.hpp"
#include "support/hash.hpp"
#include "support/log.hpp"

namespace kiln {
namespace {

constexpr std::int64_t stale_after_s = 3600;

/// As small as can be, because there may be hundreds of thousands.
struct Candidate {
    std::int64_t used_s;
    std::int64_t used_ns;
    Hash128 name;
    std::uint64_t bytes;
};

bool is_stale(const struct stat& facts, std::int64_t now_s) {
    const std::int64_t age_s = now_s - facts.st_mtim.tv_sec;
    return age_s > stale_after_s || age_s < -stale_after_s;
}

/// Unlinks an entry unless it was written or used since it was seen; says whether it did.
bool evict(int directory, const Candidate& candidate) {
    const std::string name = candidate.name.hex();
    const auto shard = open_at(directory, layout::shard(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!shard) return false;
    const std::string file = layout::entry_file(name);
    const auto now = status_at(shard->get(), file);
    if (!now || now->st_mtim.tv_sec != candidate.used_s || now->st_mtim.tv_nsec != candidate.used_ns) return false;
    return remove_at(shard->get(), file).has_value();
}

}  // namespace

SweepResult sweep(int directory, std::uint64_t maximum_bytes, std::uint64_t target_bytes) {
    const std::int64_t now_s = std::time(nullptr);
    SweepResult result;
    std::vector<Candidate> candidates;
    (void)entry_files::for_each(directory, [&](const entry_files::File& file) {
        if (file.key_name.empty()) {
            if (is_stale(file.facts, now_s) && remove_at(file.shard, file.name)) ++result.temporaries_removed;
            return;
        }
        const auto name = parse_hash(file.key_name);
        if (!name) return;
        const auto bytes = static_cast<std::uint64_t>(file.facts.st_size);
        candidates.push_back({file.facts.st_mtim.tv_sec, file.facts.st_mtim.tv_nsec, *name, bytes});
        result.bytes += bytes;
    });
    result.entries = candidates.size();
    if (result.bytes <= maximum_bytes) return result;

    std::ranges::sort(candidates, [&](const Candidate& a, const Candidate& b) {
        const auto rank = [&](const Candidate& each) {
            return std::tuple(each.used_s <= now_s, each.used_s, each.used_ns, each.name);  // the future first
        };
        return rank(a) < rank(b);
    });
    for (const Candidate& each : candidates) {
        if (result.bytes - result.evicted_bytes <= target_bytes) break;
        if (!evict(directory, each)) continue;
        ++result.evicted;
        result.evicted_bytes += each.bytes;
    }
    return result;
}

void SizeLimit::after_publish(int directory, std::uint64_t bytes) {
    const std::uint64_t since = bytes_since_sweep_.fetch_add(bytes) + bytes;
    const bool first = !swept_.exchange(true);
    if (maximum_bytes_ == 0 && !first) return;
    if (!first && since < maximum_bytes_ / 100) return;
    bytes_since_sweep_ = 0;
    const std::uint64_t no_limit = ~std::uint64_t{0};
    const SweepResult result =
        maximum_bytes_ == 0 ? sweep(directory, no_limit, no_limit) : sweep(directory, maximum_bytes_, maximum_bytes_ / 10 * 9);
    count(&Counters::evicted, result.evicted);
    count(&Counters::evicted_bytes, result.evicted_bytes);
    if (result.evicted > 0) {
        log::info("evicted {} of {} kernels, {} of {} bytes, to keep the cache under {} bytes (KILN_CACHE_MAX_SIZE)",
                  result.evicted, result.entries, result.evicted_bytes, result.bytes, maximum_bytes_);
    }
}

}  // namespace kiln
