// SPDX-License-Identifier: Apache-2.0
#include "cache/upkeep/prune.hpp"

#include <algorithm>
#include <ctime>
#include <tuple>
#include <utility>
#include <vector>

#include "cache/entry_files.hpp"
#include "cache/upkeep/places.hpp"
#include "support/hash.hpp"

namespace kiln {
namespace {

struct Candidate {
    std::int64_t used_s;
    Hash128 name;
    std::uint64_t bytes;
};

/// What to remove, in the order of names.
std::vector<Candidate> choose(std::vector<Candidate> selected, const PruneResult& before, const PruneOptions& options) {
    if (options.target_bytes) {
        std::ranges::sort(selected, {}, [](const Candidate& each) { return std::pair(each.used_s, each.name); });
        std::uint64_t left = before.bytes;
        const auto enough = std::ranges::find_if(selected, [&](const Candidate& each) {
            if (left <= *options.target_bytes) return true;
            left -= each.bytes;
            return false;
        });
        selected.erase(enough, selected.end());
        std::ranges::sort(selected, {}, &Candidate::name);
    }
    return selected;
}

/// An entry that another process has removed is as good as removed by this one.
void keep(PruneResult& result, const std::error_code& error) {
    if (is(error, std::errc::no_such_file_or_directory)) return;
    ++result.kept;
    if (result.problem.empty()) result.problem = error.message();
}

}  // namespace

Result<PruneResult> prune(const CacheConfiguration& configuration, const PruneOptions& options, const ListFunction& each) {
    auto directory = options.dry_run ? open_own_directory(configuration) : open_own_directory_to_write(configuration);
    if (!directory) return pass_on(directory);
    PruneResult result;
    if (!*directory) return result;

    const std::int64_t now_s = std::time(nullptr);
    std::vector<Candidate> selected;
    const auto listed = entry_files::list((*directory)->get(), own_directory_path(configuration), [&](const ListedEntry& entry) {
        ++result.entries;
        result.bytes += entry.bytes;
        const auto name = parse_hash(entry.key_name);
        if (name && options.selection.includes(entry, now_s)) selected.push_back({entry.used_s, *name, entry.bytes});
    });
    if (!listed) result.problem = listed.error().what;
    const auto chosen = choose(std::move(selected), result, options);
    const auto remove = [&](const Candidate& candidate) {
        if (!options.dry_run) {
            const auto removed = entry_files::remove((*directory)->get(), candidate.name.hex());
            if (!removed) return keep(result, removed.error());
        }
        ++result.removed;
        result.removed_bytes += candidate.bytes;
    };
    if (!each) {
        std::ranges::for_each(chosen, remove);
        return result;
    }
    // A second pass for those who want to see what goes: the heads of all entries are too many to remember.
    (void)entry_files::list((*directory)->get(), own_directory_path(configuration), [&](const ListedEntry& entry) {
        const auto name = parse_hash(entry.key_name).value_or(Hash128());
        const auto found = std::ranges::lower_bound(chosen, name, {}, &Candidate::name);
        if (found == chosen.end() || found->name != name) return;
        const std::uint64_t removed_before = result.removed;
        remove(*found);
        if (result.removed > removed_before) each(entry);
    });
    return result;
}

Result<PruneResult> clear(const CacheConfiguration& configuration) {
    auto directory = open_own_directory_to_write(configuration);
    if (!directory) return pass_on(directory);
    PruneResult result;
    if (!*directory) return result;
    const auto all = entry_files::for_each((*directory)->get(), [&](const entry_files::File& file) {
        const auto removed = remove_at(file.shard, file.name);
        if (file.key_name.empty()) return;
        const auto bytes = static_cast<std::uint64_t>(file.facts.st_size);
        ++result.entries;
        result.bytes += bytes;
        if (!removed) return keep(result, removed.error());
        ++result.removed;
        result.removed_bytes += bytes;
    });
    if (!all && result.problem.empty()) result.problem = all.error().message();
    return result;
}

}  // namespace kiln
