// SPDX-License-Identifier: Apache-2.0
#include "cache/kernel_cache_core.hpp"

#include <utility>

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

}  // namespace

KernelCache::Core::Core(const CacheConfiguration& configuration) : configuration_(configuration), user_(configuration) {}

Result<CachedKernel> KernelCache::Core::obtain(Key key, const KernelRequest& request, const CompileFunction& compile) {
    if (const auto item = memory_.find(key)) return from_memory(std::move(key), *item);
    auto [result, joined] = flights_.run(key, [&] { return from_layers_or_compiler(key, request, compile); });
    if (result && joined) {
        result->origin = Origin::memory;
        result->miss_reason.clear();
        result->compile_ms = 0;
    }
    return std::move(result);
}

Result<CachedKernel> KernelCache::Core::from_layers_or_compiler(const Key& key, const KernelRequest& request,
                                                                const CompileFunction& compile) {
    // Again, because the thread that worked before this one may have finished since.
    if (const auto item = memory_.find(key)) return from_memory(key, *item);
    auto found = search(key);
    if (!found && configuration_.strict) {
        return fail(ErrorCode::not_cached, "strict mode compiles nothing, and kernel {} ({}, {}) is not cached: {}", key.name,
                    request.family, request.arch.name(), found.error().what);
    }
    if (!found) return compile_and_keep(key, request, compile, found.error());

    CachedKernel kernel;
    kernel.cubin = std::make_shared<const Bytes>(std::move(found->entry.cubin));
    kernel.origin = found->origin;
    kernel.key = key;
    kernel.toolchain = std::move(found->entry.facts.toolchain);
    kernel.on_disk = true;
    memory_.put(key, {kernel.cubin, kernel.toolchain, true});
    log::debug("kernel {} came from {}", key.name, to_string(kernel.origin));
    return kernel;
}

Result<CachedKernel> KernelCache::Core::compile_and_keep(const Key& key, const KernelRequest& request,
                                                         const CompileFunction& compile, const Miss& miss) {
    log::info("compiling {} ({}) for {}: {}", request.family, key.name, request.arch.name(), miss.what);
    auto compiled = compile();
    if (!compiled) {
        log::info("{} for {} did not compile: {}", key.name, request.arch.name(), compiled.error().message);
        return pass_on(compiled);
    }
    log::info("compiled {} for {} in {:.0f} ms", key.name, request.arch.name(), compiled->compile_ms);

    CachedKernel kernel;
    kernel.cubin = std::make_shared<const Bytes>(std::move(compiled->cubin));
    kernel.miss_reason = miss.what;
    kernel.compile_ms = compiled->compile_ms;
    kernel.key = key;
    if (miss.reason == MissReason::refused) {
        kernel.publish_error = "the entry that this driver refuses stays for those whose driver takes it";
    } else {
        kernel.publish_error = user_.publish(key, {kernel.toolchain, request.spec_json}, *kernel.cubin);
    }
    kernel.on_disk = kernel.publish_error.empty();
    memory_.put(key, {kernel.cubin, kernel.toolchain, kernel.on_disk});
    return kernel;
}

tl::expected<KernelCache::Core::Found, Miss> KernelCache::Core::search(const Key& key) {
    Miss telling;
    const auto remember = [&](const Miss& miss) {
        if (telling.what.empty() || (telling.reason == MissReason::absent && miss.reason != MissReason::absent)) telling = miss;
    };
    for (const auto& layer : layers_) {
        auto entry = look_in(*layer, key);
        if (entry) return Found{std::move(*entry), layer->origin()};
        remember(entry.error());
    }
    auto entry = look_in(user_, key);
    if (entry) return Found{std::move(*entry), user_.origin()};
    // What was refused in the user's directory must not be overwritten, whatever the layers said.
    if (entry.error().reason == MissReason::refused) telling = {};
    remember(entry.error());
    return tl::unexpected(std::move(telling));
}

tl::expected<Entry, Miss> KernelCache::Core::look_in(Layer& layer, const Key& key) {
    auto entry = layer.look(key);
    if (!entry) {
        if (entry.error().reason != MissReason::absent) log::info("{}", entry.error().what);
        return entry;
    }
    if (!is_refused(key, entry->cubin)) return entry;
    return tl::unexpected(Miss{MissReason::refused, fmt::format("the driver refused the cubin in {}", layer.path())});
}

CacheLook KernelCache::Core::look(Key key) {
    CacheLook result;
    if (const auto item = memory_.find(key)) {
        result.origin = Origin::memory;
        result.cubin_bytes = item->cubin->size();
        result.toolchain = item->toolchain;
    } else if (auto found = search(key)) {
        result.origin = found->origin;
        result.cubin_bytes = found->entry.cubin.size();
        result.toolchain = std::move(found->entry.facts.toolchain);
    } else {
        result.miss_reason = std::move(found.error().what);
    }
    result.key = std::move(key);
    return result;
}

void KernelCache::Core::keep_on_disk(CachedKernel& kernel, const KernelRequest& request) {
    if (search(kernel.key)) return;
    kernel.publish_error = user_.publish(kernel.key, {kernel.toolchain, request.spec_json}, *kernel.cubin);
    kernel.on_disk = kernel.publish_error.empty();
    memory_.put(kernel.key, {kernel.cubin, kernel.toolchain, kernel.on_disk});
}

void KernelCache::Core::refused(const Key& key, const Bytes& cubin) {
    log::info("the driver refuses the cubin of kernel {}", key.name);
    {
        const std::lock_guard lock(refused_mutex_);
        refused_.emplace(key.name, xxh3_128(cubin));
    }
    memory_.erase(key);
}

bool KernelCache::Core::is_refused(const Key& key, const Bytes& cubin) {
    const std::lock_guard lock(refused_mutex_);
    return !refused_.empty() && refused_.contains({key.name, xxh3_128(cubin)});
}

}  // namespace kiln
