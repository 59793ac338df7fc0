// SPDX-License-Identifier: Apache-2.0
#include "cache/kernel_cache.hpp"

#include <utility>

#include "cache/kernel_cache_core.hpp"

namespace kiln {

KernelCache::KernelCache(CacheConfiguration configuration, std::string build_id, const Patience& patience)
    : configuration_(std::move(configuration)),
      build_id_(std::move(build_id)),
      core_([this, patience] { return std::make_unique<Core>(configuration_, patience); }) {}

KernelCache::~KernelCache() = default;

Result<CachedKernel> KernelCache::obtain(const KernelRequest& request, const CompileFunction& compile) {
    return core_.get().obtain(key(request), request, compile);
}

Result<CachedKernel> KernelCache::obtain_on_disk(const KernelRequest& request, const CompileFunction& compile) {
    auto kernel = obtain(request, compile);
    if (kernel && kernel->origin == Origin::memory) core_.get().keep_on_disk(*kernel, request);
    return kernel;
}

CacheLook KernelCache::look(const KernelRequest& request) {
    return core_.get().look(key(request));
}

std::optional<Nearest> KernelCache::nearest(const KernelRequest& request) {
    return core_.get().nearest(key(request), request.spec_json);
}

void KernelCache::refused(const Key& key, const Bytes& cubin) {
    core_.get().refused(key, cubin);
}

bool KernelCache::holds(const std::string& key_name) {
    return core_.get().holds(key_name);
}

void KernelCache::sync() {
    core_.get().sync();
}

}  // namespace kiln
