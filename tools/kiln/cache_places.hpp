// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/configuration.hpp"
#include "cache/layer.hpp"
#include "cache/upkeep/prune.hpp"

namespace kiln::tools {

/// The configuration that the environment asks for. Throws where there is neither a directory nor a layer to look into.
[[nodiscard]] CacheConfiguration cache_configuration();

/// A sentence about what should have been removed, or looked at, and was not; empty if nothing.
[[nodiscard]] std::string what_stayed(const PruneResult& result);

/// Where kernels may be found outside this process: the read-only layers in order, then the user's directory.
///
/// A user's directory that must not be used is an error; a layer that cannot be read is told once and passed over.
class CachePlaces {
public:
    explicit CachePlaces(const CacheConfiguration& configuration);

    /// Calls with each entry: place by place, in the order of keys.
    void list(const std::function<void(const Layer& place, const ListedEntry& entry)>& call) const;

    /// The one key that begins so. Throws `invalid_argument` where there is none or several.
    [[nodiscard]] std::string find(const std::string& prefix) const;

    struct Found {
        Origin origin;
        std::string path;
        Entry entry;
    };
    /// The verified entry of a key, from the first place that has one that can be used.
    [[nodiscard]] Found read(const std::string& key) const;

private:
    std::vector<std::unique_ptr<Layer>> places_;
};

}  // namespace kiln::tools
