// SPDX-License-Identifier: Apache-2.0
#include "cache/upkeep/directory_stats.hpp"

#include <algorithm>
#include <utility>

#include "cache/layer.hpp"
#include "cache/user_layer.hpp"

namespace kiln {
namespace {

void add(Amount& amount, std::uint64_t bytes) {
    ++amount.entries;
    amount.bytes += bytes;
}

void add(PlaceStats& stats, const ListedEntry& entry) {
    add(stats.all, entry.bytes);
    stats.oldest_use_s = stats.all.entries == 1 ? entry.used_s : std::min(stats.oldest_use_s, entry.used_s);
    stats.newest_use_s = std::max(stats.newest_use_s, entry.used_s);
    if (!entry.head) {
        const bool other = entry.head.error().kind == EntryFault::Kind::other_version;
        add(other ? stats.other_versions : stats.damaged, entry.bytes);
        return;
    }
    if (const auto key = parse_key_head(entry.head->key_head)) add(stats.by_arch[std::string(key->arch)], entry.bytes);
    add(stats.by_toolchain[entry.head->facts.toolchain], entry.bytes);
}

PlaceStats stats_of(Layer& layer) {
    PlaceStats stats;
    stats.path = layer.path();
    stats.origin = layer.origin();
    const auto listed = layer.list([&](const ListedEntry& entry) { add(stats, entry); });
    if (!listed && (listed.error().reason != MissReason::absent || layer.path().empty())) stats.problem = listed.error().what;
    return stats;
}

}  // namespace

std::vector<PlaceStats> directory_stats(const CacheConfiguration& configuration) {
    std::vector<PlaceStats> places;
    for (const auto& layer : open_layers(configuration)) places.push_back(stats_of(*layer));
    UserLayer user(configuration);
    places.push_back(stats_of(user));
    return places;
}

}  // namespace kiln
