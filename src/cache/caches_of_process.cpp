// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cache/kernel_cache.hpp"

namespace kiln {
namespace {

struct Opened {
    CacheConfiguration configuration;
    std::string build_id;
    std::shared_ptr<KernelCache> cache;
};

struct CachesOfProcess {
    std::mutex mutex;
    std::vector<Opened> opened;  // a handful at most
};

/// Never destroyed: models may outlive static objects.
ProcessLocal<CachesOfProcess>& caches() {
    static auto* const all = new ProcessLocal<CachesOfProcess>([] { return std::make_unique<CachesOfProcess>(); });
    return *all;
}

}  // namespace

Result<std::shared_ptr<KernelCache>> KernelCache::open(const CacheOptions& options, const BuildIdFunction& build_id) {
    auto configuration = resolve(options);
    if (!configuration) return pass_on(configuration);
    std::string required_build_id;
    if (configuration->toolchain == ToolchainPolicy::exact) {
        if (!build_id) return fail(ErrorCode::no_nvrtc, "KILN_TOOLCHAIN=exact needs the build-id of libnvrtc");
        auto known = build_id();
        if (!known) return pass_on(known);
        required_build_id = std::move(*known);
    }
    auto& [mutex, opened] = caches().get();
    const std::lock_guard lock(mutex);
    const auto found = std::find_if(opened.begin(), opened.end(), [&](const Opened& each) {
        return each.configuration == *configuration && each.build_id == required_build_id;
    });
    if (found != opened.end()) return found->cache;
    opened.push_back({*configuration, required_build_id, std::make_shared<KernelCache>(*configuration, required_build_id)});
    return opened.back().cache;
}

}  // namespace kiln
