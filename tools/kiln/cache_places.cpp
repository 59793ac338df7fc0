// SPDX-License-Identifier: Apache-2.0
#include "kiln/cache_places.hpp"

#include <map>
#include <utility>

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

void CachePlaces::list(const std::function<void(Layer&, const ListedEntry&)>& call) const {
    for (const auto& place : places_) {
        const auto listed = place->list([&](const ListedEntry& entry) { call(*place, entry); });
        if (listed) continue;
        const bool users = place->origin() == Origin::user;
        if (users && listed.error().reason == MissReason::absent) continue;  // nothing was kept yet
        if (users) throw Error(ErrorCode::bad_file, listed.error().what);
        tell(fmt::format("passing over a layer: {}", listed.error().what));
    }
}

CachePlaces::Found CachePlaces::find(const std::string& prefix) const {
    struct Copy {
        Layer* place;
        std::string path;
    };
    std::map<std::string, std::vector<Copy>> found;  // by key, in the order of places
    list([&](Layer& place, const ListedEntry& entry) {
        if (entry.key_name.starts_with(prefix)) found[entry.key_name].push_back({&place, entry.path});
    });
    if (found.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("no entry has a key that begins with '{}'; `kiln cache list` has the keys", prefix));
    }
    if (found.size() > 1) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{} entries have keys that begin with '{}', such as {} and {}",
                                                             found.size(), prefix, found.begin()->first, found.rbegin()->first));
    }
    const auto& [key, copies] = *found.begin();
    std::string why;
    for (const Copy& copy : copies) {
        const auto bytes = copy.place->read(key);
        auto entry = bytes ? verify(*bytes, key, copy.path) : tl::unexpected(bytes.error());
        if (entry) return {copy.place->origin(), copy.path, std::move(*entry)};
        why = std::move(entry.error().what);
    }
    throw Error(ErrorCode::bad_file, why);
}

}  // namespace kiln::tools
