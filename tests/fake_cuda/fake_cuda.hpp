// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// A libcuda of our own for machines without a GPU, chosen with `KILN_CUDA_LIBRARY`. Memory is host memory, so copies work; a
/// launch computes nothing and is recorded. It checks what the real one checks: initialisation, current contexts, handles,
/// ranges, limits, captures; and it counts.
///
/// Settings come from the environment at the first call, and from the functions below for programs that link it:
///
///     FAKE_CUDA_DEVICES=1          how many GPUs there are; 0: cuInit says that there is none
///     FAKE_CUDA_CAPABILITY=9.0     their compute capability
///     FAKE_CUDA_VERSION=13000      what cuDriverGetVersion says
///     FAKE_CUDA_FAIL=…             which calls fail: see `fail`
///     FAKE_CUDA_COUNTERS=file      where to write the counters as lines "name value" when the process ends
#define FAKE_CUDA_API __attribute__((visibility("default")))

namespace fake_cuda {

/// Back to the environment's settings, with all counters at zero and no recorded launch. What is alive stays alive.
FAKE_CUDA_API void reset();

/// Makes calls fail: "cuMemAlloc_v2#3=2,cuLaunchKernel=719" lets the third cuMemAlloc_v2 from now on fail once with error 2 and
/// every cuLaunchKernel with error 719. "*=4" is every call: a driver that has shut down. Replaces what was set before; "" is
/// none.
FAKE_CUDA_API void fail(const std::string& rules);

struct Counters {
    long calls = 0;
    long calls_after_fork = 0;  ///< in a child of a process that had called cuInit
    long contexts_retained = 0;
    long contexts_released = 0;
    long libraries_loaded = 0;
    long libraries_unloaded = 0;
    long allocations = 0;
    long frees = 0;
    long bytes_in_use = 0;
    long launches = 0;  ///< executed: a captured one counts at each launch of its graph
    long copies = 0;
    long streams = 0;  ///< alive
    long events = 0;   ///< alive
    long graphs = 0;   ///< alive, captured and executable
    long waits = 0;    ///< synchronisations of a stream, an event or a context
    /// On streams that do not wait for the default one, which may still be filling or copying: those calls may return before.
    long launches_too_early = 0;
};
[[nodiscard]] FAKE_CUDA_API Counters counters();

struct Launch {
    unsigned grid[3] = {0, 0, 0};
    unsigned block[3] = {0, 0, 0};
    unsigned blocks_per_cluster = 1;
    bool may_start_early = false;
    unsigned dynamic_shared_bytes = 0;
    void* stream = nullptr;
    std::vector<std::byte> parameters;  ///< as long as the kernel says that they are
};

/// The launches since the last reset, captured ones when their graph is launched.
[[nodiscard]] FAKE_CUDA_API std::vector<Launch> launches();

/// Called at each launch, instead of the kernel: to fill `y`, for one.
FAKE_CUDA_API void on_launch(void (*kernel)(const Launch&));

}  // namespace fake_cuda
