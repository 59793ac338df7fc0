// SPDX-License-Identifier: Apache-2.0
#include <kiln/warm.hpp>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "cache/kernel_cache.hpp"
#include "jit/nvrtc.hpp"
#include "model/loaded_kernel.hpp"
#include "model/specialised_kernel.hpp"
#include "model/validation.hpp"
#include "support/parallel.hpp"

namespace kiln {

namespace {

Error to_error(const Failure& failure) {
    return {failure.code, failure.message, failure.native_code, failure.log};
}

Result<std::shared_ptr<const SpecialisedKernel>> plan_one(const WarmReport& report) {
    if (auto checked = check_spec(report.spec); !checked) return pass_on(checked);
    return specialise_best(report.spec, report.arch);
}

/// What can be said before a cubin is there.
KernelReport describe_plan(const SpecialisedKernel& specialised) {
    return {.family = specialised.request.family,
            .tile = specialised.request.tile,
            .arch = specialised.request.arch.name(),
            .note = specialised.note};
}

void look_for(const SpecialisedKernel& specialised, KernelCache& cache, WarmReport& report) {
    const CacheLook look = cache.look(specialised.request);
    report.kernel.key = look.key.name;
    report.kernel.origin = look.origin.value_or(Origin::compiled);
    report.kernel.miss_reason = look.miss_reason;
    report.kernel.cubin_bytes = static_cast<std::int64_t>(look.cubin_bytes);
    report.kernel.toolchain = look.toolchain;
    report.on_disk = look.on_disk;
}

void keep_on_disk(const SpecialisedKernel& specialised, KernelCache& cache, WarmReport& report) {
    auto cached = cache.obtain_on_disk(specialised.request, compiler_of(specialised));
    if (!cached) {
        report.error = to_error(cached.error());
        return;
    }
    report.kernel = describe_kernel(specialised, *cached);
    report.on_disk = cached->on_disk;
    // A model would run all the same; a container that is built by this must not ship an empty cache.
    if (!cached->on_disk) report.error = Error(ErrorCode::bad_file, "the kernel is not on disk: " + cached->publish_error);
}

/// What was there when its turn was over may have been evicted to make room for the next.
void check_again(KernelCache& cache, WarmReport& report) {
    if (report.stopped || report.error || cache.holds(report.kernel.key)) return;
    report.on_disk = false;
    report.error = Error(ErrorCode::bad_file,
                         "the kernel is not on disk any more: the cache's maximum size (KILN_CACHE_MAX_SIZE) "
                         "does not hold all that was warmed, or another process removed it");
}

void warm_one(KernelCache& cache, const WarmOptions& options, WarmReport& report) {
    auto specialised = plan_one(report);
    if (!specialised) {
        report.error = to_error(specialised.error());
        return;
    }
    report.kernel = describe_plan(**specialised);
    if (options.dry_run) {
        look_for(**specialised, cache, report);
    } else {
        keep_on_disk(**specialised, cache, report);
    }
}

}  // namespace

std::vector<WarmReport> warm(const std::vector<ModelSpec>& specs, const std::vector<Arch>& archs, const WarmOptions& options) {
    if (options.jobs < 0) throw Error(ErrorCode::invalid_argument, fmt::format("jobs is {}; it must be 0 or more", options.jobs));
    CacheOptions cache_options = options.cache;
    cache_options.strict = cache_options.strict.value_or(false);  // KILN_STRICT is about models: who warms wants compiles
    const auto cache = value_or_throw(KernelCache::open(cache_options, jit::nvrtc_build_id));

    std::vector<WarmReport> reports;
    for (const ModelSpec& spec : specs) {
        for (const Arch& arch : archs) reports.push_back({.spec = spec, .arch = arch, .kernel = {}, .error = {}});
    }

    std::mutex progress_mutex;
    std::size_t done = 0;
    std::exception_ptr thrown;
    const auto work = [&](std::size_t index) {
        WarmReport& report = reports[index];
        const bool given_up = [&] {
            const std::lock_guard lock(progress_mutex);
            return thrown != nullptr;
        }();
        if (given_up || options.stop.stop_requested()) {
            report.stopped = true;
        } else {
            warm_one(*cache, options, report);
        }
        const std::lock_guard lock(progress_mutex);
        ++done;
        if (!options.progress || thrown) return;
        try {
            options.progress(report, done, reports.size());
        } catch (...) {
            thrown = std::current_exception();  // told when the kernels that were begun are kept
        }
    };
    parallel_for(reports.size(), work, static_cast<std::size_t>(options.jobs));
    // What came from disk is there; the rest has been written just now.
    const bool wrote = std::any_of(reports.begin(), reports.end(), [](const WarmReport& report) {
        return report.on_disk && (report.kernel.origin == Origin::compiled || report.kernel.origin == Origin::memory);
    });
    if (wrote && !options.dry_run) {
        cache->sync();
        for (WarmReport& report : reports) check_again(*cache, report);
    }
    if (thrown) std::rethrow_exception(thrown);
    return reports;
}

}  // namespace kiln
