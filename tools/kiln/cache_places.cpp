// SPDX-License-Identifier: Apache-2.0
#include "kiln/cache_places.hpp"

#include <set>

#include "cache/user_layer.hpp"
#include "kiln/exit_status.hpp"
#include "kiln/output.hpp"
#include "support/result.hpp"

namespace kiln::tools {

CacheConfiguration cache_configuration() {
    CacheConfiguration configuration = value_or_throw(resolve(CacheOptions{}));
    if (configuration.directory.empty() && configuration.layers.empty()) {
        throw CommandFailure(ExitStatus::machine_lacks, "no_cache_directory", configuration.why_no_directory);
    }
    return configuration;
}

std::string what_stayed(const PruneResult& result) {
    if (result.problem.empty()) return {};
    if (result.kept == 0) return fmt::format("not all of the user's directory can be read: {}", result.problem);
    return fmt::format("{} kernels could not be removed: {}", result.kept, result.problem);
}

CachePlaces::CachePlaces(const CacheConfiguration& configuration) : places_(open_layers(configuration)) {
    if (!configuration.directory.empty()) places_.push_back(std::make_unique<UserLayer>(configuration));
}

void CachePlaces::list(const std::function<void(const Layer&, const ListedEntry&)>& call) const {
    for (const auto& place : places_) {
        const auto listed = place->list([&](const ListedEntry& entry) { call(*place, entry); });
        if (listed) continue;
        const bool users = place->origin() == Origin::user;
        if (users && listed.error().reason == MissReason::absent) continue;  // nothing was kept yet
        if (users) throw Error(ErrorCode::bad_file, listed.error().what);
        tell(fmt::format("passing over a layer: {}", listed.error().what));
    }
}

std::string CachePlaces::find(const std::string& prefix) const {
    std::set<std::string> found;
    list([&](const Layer&, const ListedEntry& entry) {
        if (entry.key_name.starts_with(prefix)) found.insert(entry.key_name);
    });
    if (found.size() == 1) return *found.begin();
    if (found.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("no entry has a key that begins with '{}'; `kiln cache list` has the keys", prefix));
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("{} entries have keys that begin with '{}', such as {} and {}",
                                                         found.size(), prefix, *found.begin(), *found.rbegin()));
}

CachePlaces::Found CachePlaces::read(const std::string& key) const {
    std::string why = fmt::format("no place has an entry {}", key);
    for (const auto& place : places_) {
        const auto bytes = place->read(key);
        if (!bytes && bytes.error().reason == MissReason::absent) continue;
        auto entry = bytes ? verify(*bytes, key, place->path()) : tl::unexpected(bytes.error());
        if (entry) return {place->origin(), place->path(), std::move(*entry)};
        why = entry.error().what;
    }
    throw Error(ErrorCode::bad_file, why);
}

}  // namespace kiln::tools
