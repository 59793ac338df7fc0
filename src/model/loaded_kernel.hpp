// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <kiln/options.hpp>
#include <kiln/report.hpp>

#include "cache/kernel_cache.hpp"
#include "driver/library.hpp"
#include "model/specialised_kernel.hpp"
#include "support/result.hpp"

namespace kiln {

/// A kernel in the driver, ready to launch; shared by the equal models of a process. Immutable.
struct LoadedKernel {
    driver::LoadedLibrary library;
    driver::Kernel kernel;
    DeviceLimits limits;
    KernelReport report;
};

/// What is known about a kernel before it is loaded: from the plan, the cache, and the cubin's own notes.
[[nodiscard]] KernelReport describe_kernel(const SpecialisedKernel& specialised, const CachedKernel& cached);

/// Compiles this kernel with NVRTC, for when no layer of the cache has it. The kernel must outlive the function.
[[nodiscard]] CompileFunction compiler_of(const SpecialisedKernel& specialised);

/// A loaded kernel as one model got it: shared, with a report of its own, since the first model compiled what the next finds.
struct ObtainedKernel {
    std::shared_ptr<const LoadedKernel> kernel;
    KernelReport report;
};

/// The kernel of this process for this key and GPU: the one that is loaded already, or a cubin from the cache or NVRTC, loaded
/// now.
[[nodiscard]] Result<ObtainedKernel> obtain_loaded(const SpecialisedKernel& specialised, const driver::Context& context,
                                                   KernelCache& cache);

}  // namespace kiln
