// SPDX-License-Identifier: Apache-2.0
#include "cache/kernel_cache_core.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "cache/counters.hpp"
#include "cache/cubin_check.hpp"
#include "support/log.hpp"

namespace kiln {
namespace {

CachedKernel from_memory(Key key, const MemoryCubins::Item& item) {
    CachedKernel kernel;
    kernel.cubin = item.cubin;
    kernel.origin = Origin::memory;
    kernel.key = std::move(key);
    kernel.toolchain = item.toolchain;
    kernel.on_disk = item.on_disk;
    return kernel;
}

/// What strict mode takes for a fault instead of asking the next place: somebody who ships a cache wants to know.
bool is_fault(MissReason reason) {
    switch (reason) {
        case MissReason::damaged:
        case MissReason::other_key:
        case MissReason::untrusted:
        case MissReason::unreadable: return true;
        case MissReason::absent:
        case MissReason::other_version:
        case MissReason::refused: break;
    }
    return false;
}

}  // namespace

KernelCache::Core::Core(const CacheConfiguration& configuration, const Patience& patience)
    : configuration_(configuration), patience_(patience), layers_(open_layers(configuration)), user_(configuration) {}

Result<CachedKernel> KernelCache::Core::obtain(Key key, const KernelRequest& request, const CompileFunction& compile) {
    count(&Counters::requests);
    if (const auto item = memory_.find(key)) {
        count_hit(Origin::memory);
        return from_memory(std::move(key), *item);
    }
    auto [result, joined] = flights_.run(key, [&] { return work_for(key, request, compile); });
    if (joined && result) {
        count_hit(Origin::memory);
        result->origin = Origin::memory;
        result->miss_reason.clear();
        result->compile_ms = 0;
    } else if (joined) {
        count(&Counters::shared_failures);
    }
    return std::move(result);
}

Result<CachedKernel> KernelCache::Core::work_for(const Key& key, const KernelRequest& request, const CompileFunction& compile) {
    // Again, because the thread that worked before this one may have finished since.
    if (const auto item = memory_.find(key)) {
        count_hit(Origin::memory);
        return from_memory(key, *item);
    }
    auto found = search(key);
    if (found) return take(key, std::move(*found));
    if (configuration_.strict) return refuse_to_compile(key, request, found.error());

    CompileTurn turn;
    if (user_.why_not_writable().empty()) {
        const auto look_again = [&]() -> std::optional<Entry> {
            auto entry = user_.look(key);
            if (!entry || is_refused(key, entry->cubin)) return std::nullopt;
            return std::move(*entry);
        };
        auto waited = CompileTurn::wait(user_.directory(), key, look_again, patience_);
        if (auto* entry = std::get_if<Entry>(&waited)) return take(key, {std::move(*entry), Origin::user});
        turn = std::move(std::get<CompileTurn>(waited));
    }
    return compile_and_keep(key, request, compile, found.error());
}

Result<CachedKernel> KernelCache::Core::take(const Key& key, Found found) {
    count_hit(found.origin);
    log::debug("kernel {}: from {}", key.name, to_string(found.origin));
    CachedKernel kernel;
    kernel.cubin = std::make_shared<const Bytes>(std::move(found.entry.cubin));
    kernel.origin = found.origin;
    kernel.key = key;
    kernel.toolchain = std::move(found.entry.facts.toolchain);
    kernel.on_disk = true;
    memory_.put(key, {kernel.cubin, kernel.toolchain, true});
    return kernel;
}

Result<CachedKernel> KernelCache::Core::compile_and_keep(const Key& key, const KernelRequest& request,
                                                         const CompileFunction& compile, const Missed& miss) {
    count_miss(miss.reason);
    log::info("kernel {}: compiling {} for {}, because {}", key.name, request.family, request.arch.name(), miss.what);
    auto compiled = compile();
    if (!compiled) {
        count(&Counters::compile_failures);
        log::info("kernel {}: did not compile: {}", key.name, compiled.error().message);
        return pass_on(compiled);
    }
    count(&Counters::compiled);
    log::info("kernel {}: compiled in {:.0f} ms", key.name, compiled->compile_ms);

    CachedKernel kernel;
    kernel.cubin = std::make_shared<const Bytes>(std::move(compiled->cubin));
    kernel.miss_reason = miss.what;
    kernel.compile_ms = compiled->compile_ms;
    kernel.key = key;
    kernel.toolchain = toolchain_of(*kernel.cubin);
    // Another process's driver may be newer and take what this one refused.
    kernel.publish_error =
        miss.own_entry_is_refused ? "the entry that this driver refuses is kept for others" : publish(kernel, request);
    kernel.on_disk = kernel.publish_error.empty();
    memory_.put(key, {kernel.cubin, kernel.toolchain, kernel.on_disk});
    return kernel;
}

tl::unexpected<Failure> KernelCache::Core::refuse_to_compile(const Key& key, const KernelRequest& request, const Miss& miss) {
    count_miss(miss.reason);
    count(&Counters::strict);
    if (is_fault(miss.reason)) {
        return fail(ErrorCode::bad_file, "strict mode compiles nothing, and kernel {} ({} for {}) cannot be had: {}", key.name,
                    request.family, request.arch.name(), miss.what);
    }
    const auto closest = nearest(key, request.spec_json);
    return fail(ErrorCode::not_cached, "strict mode compiles nothing, and kernel {} ({} for {}) is not cached: {}; {}", key.name,
                request.family, request.arch.name(), miss.what,
                closest ? fmt::format("the nearest entry is {}: {}", closest->key_name, closest->text())
                        : std::string("there is no entry at all"));
}

std::string KernelCache::Core::publish(const CachedKernel& kernel, const KernelRequest& request) {
    const auto bytes = Entry::encode(kernel.key, {kernel.toolchain, request.spec_json}, *kernel.cubin);
    if (bytes) return user_.publish(kernel.key.name, *bytes);
    count(&Counters::publish_failures);
    log::warning("{}", bytes.error().message);
    return bytes.error().message;
}

tl::expected<KernelCache::Core::Found, KernelCache::Core::Missed> KernelCache::Core::search(const Key& key) {
    Missed telling;
    const auto remember = [&](Miss miss) {
        const bool says_more = telling.reason == MissReason::absent && miss.reason != MissReason::absent;
        if (telling.what.empty() || says_more) static_cast<Miss&>(telling) = std::move(miss);
    };
    for (const auto& layer : layers_) {
        auto entry = look_in(*layer, key);
        if (entry) return Found{std::move(*entry), layer->origin()};
        remember(std::move(entry.error()));
        if (configuration_.strict && is_fault(telling.reason)) return tl::unexpected(std::move(telling));
    }
    auto entry = look_in(user_, key);
    if (entry) return Found{std::move(*entry), user_.origin()};
    telling.own_entry_is_refused = entry.error().reason == MissReason::refused;
    remember(std::move(entry.error()));
    return tl::unexpected(std::move(telling));
}

tl::expected<Entry, Miss> KernelCache::Core::look_in(Layer& layer, const Key& key) {
    auto entry = layer.look(key);
    if (entry && is_refused(key, entry->cubin)) {
        entry = tl::unexpected(Miss{MissReason::refused, fmt::format("the driver refused the cubin in {}", layer.path())});
    }
    if (!entry) say_what_is_wrong(layer, entry.error());
    return entry;
}

void KernelCache::Core::say_what_is_wrong(const Layer& layer, const Miss& miss) {
    if (miss.reason == MissReason::absent || miss.reason == MissReason::refused) return;
    if (miss.reason == MissReason::damaged) count(&Counters::damaged);
    const bool whole_layer = miss.reason == MissReason::untrusted || miss.reason == MissReason::unreadable;
    const std::lock_guard lock(mutex_);
    if (whole_layer && &layer != &user_ && warned_about_.insert(&layer).second) {
        log::warning("{}; it is passed over", miss.what);
    } else if (miss.reason == MissReason::damaged) {
        log::warning("{}; it is compiled again unless another place has it", miss.what);
    } else {
        log::info("{}", miss.what);
    }
}

CacheLook KernelCache::Core::look(Key key) {
    CacheLook result;
    if (const auto item = memory_.find(key)) {
        result.origin = Origin::memory;
        result.on_disk = item->on_disk;
        result.cubin_bytes = item->cubin->size();
        result.toolchain = item->toolchain;
    } else if (auto found = search(key)) {
        result.origin = found->origin;
        result.on_disk = true;
        result.cubin_bytes = found->entry.cubin.size();
        result.toolchain = std::move(found->entry.facts.toolchain);
    } else {
        result.miss_reason = std::move(found.error().what);
    }
    result.key = std::move(key);
    return result;
}

std::optional<Nearest> KernelCache::Core::nearest(const Key& key, const std::string& spec_json) {
    NearestFinder finder(key, spec_json);
    const auto consider = [&](const ListedEntry& entry) { finder.consider(entry); };
    for (const auto& layer : layers_) (void)layer->list(consider);
    (void)user_.list(consider);
    return finder.result();
}

void KernelCache::Core::keep_on_disk(CachedKernel& kernel, const KernelRequest& request) {
    if (search(kernel.key)) return;
    kernel.publish_error = publish(kernel, request);
    kernel.on_disk = kernel.publish_error.empty();
    memory_.put(kernel.key, {kernel.cubin, kernel.toolchain, kernel.on_disk});
}

bool KernelCache::Core::holds(const std::string& key_name) {
    const auto has_it = [&](Layer& layer) {
        const auto bytes = layer.read(key_name);
        return bytes && verify(*bytes, key_name, layer.path());
    };
    return std::ranges::any_of(layers_, [&](const auto& layer) { return has_it(*layer); }) || has_it(user_);
}

void KernelCache::Core::refused(const Key& key, const Bytes& cubin) {
    count(&Counters::refused);
    log::info("kernel {}: the driver refuses this cubin", key.name);
    {
        const std::lock_guard lock(mutex_);
        refused_.emplace(key.name, xxh3_128(cubin));
    }
    memory_.erase(key);
}

bool KernelCache::Core::is_refused(const Key& key, const Bytes& cubin) {
    const std::lock_guard lock(mutex_);
    return !refused_.empty() && refused_.contains({key.name, xxh3_128(cubin)});
}

}  // namespace kiln
