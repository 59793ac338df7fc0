// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/context.hpp"

namespace kiln::driver {

/// What the driver says about a loaded kernel.
struct KernelAttributes {
    int registers = 0;            ///< per thread
    int local_bytes = 0;          ///< per thread: spills and stack
    int static_shared_bytes = 0;  ///< per block
    int maximum_threads = 0;      ///< per block
};

/// A launch: blocks and threads in x only, as all of Kiln's kernels are.
struct LaunchShape {
    unsigned blocks = 1;
    unsigned threads = 1;
    unsigned dynamic_shared_bytes = 0;
    unsigned blocks_per_cluster = 1;  ///< above 1: a cluster launch, for compute capability 9.0 and later
    /// Blocks may start while the kernel in front of them in the stream ends. For kernels that wait for its end themselves before
    /// they touch what it may have written (PTX: griddepcontrol.wait), on 9.0 and later. Older drivers start them when it has
    /// ended.
    bool may_start_early = false;
};

/// A kernel of a `LoadedLibrary`. A handle that owns nothing: the library must outlive it, and the library's context must be
/// current
/// (`Context::enter`) during each call. Thread safe.
class Kernel {
public:
    [[nodiscard]] const KernelAttributes& attributes() const noexcept { return attributes_; }

    /// Lets launches use this much dynamic shared memory. Checked against the device's opt-in limit less the static part; past
    /// 48 KB the driver wants to be asked, and asking always does no harm.
    [[nodiscard]] Result<void> allow_dynamic_shared_bytes(int bytes) const;

    /// How many blocks of this size one multiprocessor holds at once.
    [[nodiscard]] Result<int> blocks_per_multiprocessor(int threads, int dynamic_shared_bytes) const;

    /// Starts the kernel with one parameter, which is copied, asynchronously.
    [[nodiscard]] Result<void> launch(const LaunchShape& shape, CUstream stream, const void* parameter) const;

    [[nodiscard]] CUfunction handle() const noexcept { return handle_; }

private:
    friend class LoadedLibrary;
    [[nodiscard]] static Result<Kernel> describe(const Context& context, CUfunction handle);
    Kernel(const Context& context, CUfunction handle) noexcept
        : cuda_(&context.cuda()), device_(&context.device()), handle_(handle) {}

    const EntryPoints* cuda_;
    const Device* device_;
    CUfunction handle_;
    KernelAttributes attributes_;
};

}  // namespace kiln::driver
