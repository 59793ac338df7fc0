// SPDX-License-Identifier: Apache-2.0
#include "model/loaded_kernel.hpp"

#include <chrono>
#include <string_view>
#include <utility>

#include "cache/kernel_cache.hpp"
#include "cache/loaded_kernels.hpp"
#include "driver/cubin.hpp"
#include "driver/errors.hpp"
#include "jit/compiler.hpp"
#include "support/log.hpp"

namespace kiln {

namespace {

static_assert(std::string_view(jit::kernel_name) == kernel_function_name, "what is compiled is what the cache looks for");

/// What the driver's occupancy call says of this kernel, and the sizes of the GPU.
Result<DeviceLimits> limits_of(const driver::Kernel& kernel, const driver::Device& device, const Family::BlockShape& block) {
    if (auto allowed = kernel.allow_dynamic_shared_bytes(block.shared_bytes); !allowed) return pass_on(allowed);
    auto blocks = kernel.blocks_per_multiprocessor(block.threads, block.shared_bytes);
    if (!blocks) return pass_on(blocks);
    if (*blocks < 1) {
        return fail(ErrorCode::driver_failure, "a block of {} threads with {} bytes of dynamic shared memory does not fit on {}",
                    block.threads, block.shared_bytes, device.name);
    }
    return DeviceLimits{.multiprocessors = device.multiprocessors,
                        .shared_bytes_per_block = device.shared_bytes_per_block,
                        .blocks_per_multiprocessor = *blocks};
}

Result<std::shared_ptr<const LoadedKernel>> load(const SpecialisedKernel& specialised, const driver::Context& context,
                                                 const CachedKernel& cached) {
    const auto begin = std::chrono::steady_clock::now();
    auto library = driver::LoadedLibrary::load(context, *cached.cubin);
    if (!library) return pass_on(library);
    auto kernel = library->kernel(jit::kernel_name);
    if (!kernel) return pass_on(kernel);
    const auto guard = context.enter();
    if (!guard) return tl::unexpected(guard.error());
    auto limits = limits_of(*kernel, context.device(), specialised.block);
    if (!limits) return pass_on(limits);

    KernelReport report = describe_kernel(specialised, cached);
    report.load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return std::make_shared<const LoadedKernel>(LoadedKernel{std::move(*library), *kernel, *limits, std::move(report)});
}

/// An entry that this driver refuses is compiled afresh, once; a fresh cubin that it refuses is an error.
Result<std::shared_ptr<const LoadedKernel>> load_from_cache(const SpecialisedKernel& specialised, const driver::Context& context,
                                                            KernelCache& cache) {
    auto cached = cache.obtain(specialised.request, compiler_of(specialised));
    if (!cached) return pass_on(cached);
    auto loaded = load(specialised, context, *cached);
    if (!loaded && cached->origin != Origin::compiled && driver::is_refused_image(loaded.error())) {
        log::warning("GPU {} refuses the cached cubin {}: {}; compiling it afresh", context.device().ordinal, cached->key.name,
                     loaded.error().message);
        cache.refused(cached->key, *cached->cubin);
        cached = cache.obtain(specialised.request, compiler_of(specialised));
        if (!cached) return pass_on(cached);
        loaded = load(specialised, context, *cached);
    }
    return loaded;
}

/// Made once per specialisation where that will do: a key's text is as long as the source.
std::shared_ptr<const Key> key_in(const KernelCache& cache, const SpecialisedKernel& specialised) {
    return cache.takes_any_toolchain() ? specialised.key : std::make_shared<const Key>(cache.key(specialised.request));
}

}  // namespace

KernelReport describe_kernel(const SpecialisedKernel& specialised, const CachedKernel& cached) {
    KernelReport report{.family = specialised.request.family,
                        .tile = specialised.request.tile,
                        .arch = specialised.request.arch.name(),
                        .key = cached.key.name,
                        .origin = cached.origin,
                        .miss_reason = cached.miss_reason,
                        .compile_ms = cached.compile_ms,
                        .shared_bytes = specialised.block.shared_bytes,
                        .cubin_bytes = static_cast<std::int64_t>(cached.cubin->size()),
                        .toolchain = cached.toolchain,
                        .note = specialised.note};
    // A cubin that says nothing of itself, from an NVRTC to come, is no reason to fail.
    if (const auto info = driver::inspect_cubin(*cached.cubin, jit::kernel_name)) {
        report.registers = info->registers;
        report.spilled_bytes = info->local_bytes;
        report.shared_bytes += info->static_shared_bytes;
    }
    return report;
}

CompileFunction compiler_of(const SpecialisedKernel& specialised) {
    return [&specialised]() -> Result<CompiledKernel> {
        auto compiled = jit::compile(specialised.request.arch, specialised.request.source);
        if (!compiled) return pass_on(compiled);
        return CompiledKernel{std::move(compiled->cubin), compiled->compile_ms};
    };
}

Result<ObtainedKernel> obtain_loaded(const SpecialisedKernel& specialised, const driver::Context& context, KernelCache& cache) {
    static LoadedKernels<LoadedKernel>& loaded_kernels = *new LoadedKernels<LoadedKernel>;  // outlives every model
    auto got = loaded_kernels.get(key_in(cache, specialised), context.device().ordinal,
                                  [&] { return load_from_cache(specialised, context, cache); });
    if (!got) return pass_on(got);

    ObtainedKernel obtained{std::move(got->kernel), {}};
    obtained.report = obtained.kernel->report;
    if (got->shared) {
        obtained.report.origin = Origin::memory;
        obtained.report.miss_reason.clear();
        obtained.report.compile_ms = 0;
        obtained.report.load_ms = 0;
    }
    return obtained;
}

}  // namespace kiln
