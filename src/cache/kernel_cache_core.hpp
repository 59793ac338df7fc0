// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/compile_turn.hpp"
#include "cache/kernel_cache.hpp"
#include "cache/layer.hpp"
#include "cache/memory_cubins.hpp"
#include "cache/user_layer.hpp"
#include "support/hash.hpp"
#include "support/single_flight.hpp"

namespace kiln {

/// What a cache consists of in one process, and the order in which its parts are asked:
///
///     memory → (one thread per key from here on) → layers, in order → the user's directory
///            → (one process per key from here on) → the user's directory again → the compiler → memory and the user's directory
class KernelCache::Core {
public:
    Core(const CacheConfiguration& configuration, const Patience& patience);

    [[nodiscard]] Result<CachedKernel> obtain(Key key, const KernelRequest& request, const CompileFunction& compile);
    void keep_on_disk(CachedKernel& kernel, const KernelRequest& request);
    [[nodiscard]] CacheLook look(Key key);
    [[nodiscard]] std::optional<Nearest> nearest(const Key& key, const std::string& spec_json);
    void refused(const Key& key, const Bytes& cubin);
    [[nodiscard]] bool holds(const std::string& key_name);
    void sync() { user_.sync(); }

private:
    struct Found {
        Entry entry;
        Origin origin;
    };
    struct Missed : Miss {                  ///< the miss that tells most of all places'
        bool own_entry_is_refused = false;  ///< the user's directory has the kernel, for other drivers than this one
    };
    /// The first layer's entry.
    [[nodiscard]] tl::expected<Found, Missed> search(const Key& key);
    [[nodiscard]] tl::expected<Entry, Miss> look_in(Layer& layer, const Key& key);
    void say_what_is_wrong(const Layer& layer, const Miss& miss);

    [[nodiscard]] Result<CachedKernel> work_for(const Key& key, const KernelRequest& request, const CompileFunction& compile);
    [[nodiscard]] Result<CachedKernel> take(const Key& key, Found found);
    [[nodiscard]] Result<CachedKernel> compile_and_keep(const Key& key, const KernelRequest& request,
                                                        const CompileFunction& compile, const Missed& miss);
    [[nodiscard]] tl::unexpected<Failure> refuse_to_compile(const Key& key, const KernelRequest& request, const Miss& miss);
    [[nodiscard]] std::string publish(const CachedKernel& kernel, const KernelRequest& request);
    [[nodiscard]] bool is_refused(const Key& key, const Bytes& cubin);

    const CacheConfiguration& configuration_;
    const Patience patience_;
    MemoryCubins memory_;
    SingleFlight<Key, CachedKernel, KeyHash> flights_;
    const std::vector<std::unique_ptr<Layer>> layers_;  ///< read-only ones; the user's directory comes after them
    UserLayer user_;

    std::mutex mutex_;
    std::set<std::pair<std::string, Hash128>> refused_;  ///< a key's name and the hash of a cubin
    std::set<const Layer*> warned_about_;
};

}  // namespace kiln
