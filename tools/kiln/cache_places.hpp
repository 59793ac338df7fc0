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
    void list(const std::function<void(Layer& place, const ListedEntry& entry)>& call) const;

    struct Found {
        Origin origin;
        std::string path;  ///< of the entry's file, or of the bundle that holds it
        Entry entry;
    };
    /// The verified entry of the one key that begins so, from the first place that has one that can be used. Throws
    /// `invalid_argument` where there is no such key or several, and `bad_file` where no place's entry can be used.
    [[nodiscard]] Found find(const std::string& prefix) const;

private:
    std::vector<std::unique_ptr<Layer>> places_;
};

}  // namespace kiln::tools
