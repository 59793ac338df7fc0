// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kiln/arch.hpp>
#include <kiln/error.hpp>
#include <kiln/export.hpp>
#include <kiln/options.hpp>
#include <kiln/report.hpp>
#include <kiln/spec.hpp>

namespace kiln {

/// One (spec, arch) of a warm: its kernel's facts, or why there are none.
struct WarmReport {
    ModelSpec spec;
    Arch arch;
    KernelReport kernel = {};         ///< whatever is known; `origin` is valid only without an error
    std::optional<Error> error = {};  ///< why this kernel could not be had, or could not be kept
    bool on_disk = false;             ///< a cache directory or layer is known to hold it now
    bool stopped = false;             ///< the stop token fired before its turn
};

struct WarmOptions {
    int jobs = 0;  ///< kernels compiled at once; 0 is one per core
    CacheOptions cache = {};
    bool dry_run = false;  ///< only look: no kernel is compiled or written
    /// Called after each kernel, from one thread at a time, with how many of how many are done.
    /// What it throws comes out of `warm`, after the kernels that were begun.
    std::function<void(const WarmReport&, std::size_t done, std::size_t total)> progress = {};
    std::stop_token stop = {};  ///< kernels that have not begun when it fires are reported as stopped
};

/// Fills the cache for every spec on every arch; needs NVRTC for what is missing, and neither a GPU nor a driver.
///
/// One failure does not stop the rest. The reports come in order, specs outermost. Thread safe.
/// @throws Error only for what concerns the whole call, such as options that are not valid.
[[nodiscard]] KILN_API std::vector<WarmReport> warm(const std::vector<ModelSpec>& specs, const std::vector<Arch>& archs,
                                                    const WarmOptions& options = {});

}  // namespace kiln
