// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/kernel_cache.hpp"
#include "cache/memory_cubins.hpp"
#include "cache/user_layer.hpp"
#include "support/hash.hpp"
#include "support/single_flight.hpp"

namespace kiln {

/// What a cache consists of in one process.
class KernelCache::Core {
public:
    explicit Core(const CacheConfiguration& configuration);

    [[nodiscard]] Result<CachedKernel> obtain(Key key, const KernelRequest& request, const CompileFunction& compile);
    void keep_on_disk(CachedKernel& kernel, const KernelRequest& request);
    [[nodiscard]] CacheLook look(Key key);
    void refused(const Key& key, const Bytes& cubin);
    void sync() { user_.sync(); }

private:
    /// The first layer's entry, or the miss that tells most.
    struct Found {
        Entry entry;
        Origin origin;
    };
    [[nodiscard]] tl::expected<Found, Miss> search(const Key& key);
    [[nodiscard]] tl::expected<Entry, Miss> look_in(Layer& layer, const Key& key);

    [[nodiscard]] Result<CachedKernel> from_layers_or_compiler(const Key& key, const KernelRequest& request,
                                                               const CompileFunction& compile);
    [[nodiscard]] Result<CachedKernel> compile_and_keep(const Key& key, const KernelRequest& request,
                                                        const CompileFunction& compile, const Miss& miss);
    [[nodiscard]] bool is_refused(const Key& key, const Bytes& cubin);

    const CacheConfiguration& configuration_;
    MemoryCubins memory_;
    SingleFlight<Key, CachedKernel, KeyHash> flights_;
    std::vector<std::unique_ptr<Layer>> layers_;  ///< read-only ones, in the order of search; the user's comes after them
    UserLayer user_;

    std::mutex refused_mutex_;
    std::set<std::pair<std::string, Hash128>> refused_;  ///< a key's name and the hash of a cubin
};

}  // namespace kiln
