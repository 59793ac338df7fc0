// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <kiln/arch.hpp>

#include "support/bytes.hpp"
#include "support/result.hpp"

namespace kiln::jit {

/// The name of every kernel, declared `extern "C"`.
inline constexpr const char* kernel_name = "kiln_forward";

struct CompiledCubin {
    Bytes cubin;
    std::string log;            ///< NVRTC's, with warnings; empty as a rule
    double compile_ms = 0;      ///< the whole call, the loading of NVRTC included
    std::string nvrtc_version;  ///< "13.0"
    std::string nvrtc_path;     ///< of the libnvrtc that did it
};

/// The options that decide what a source becomes, as they enter the cache's key; the arch stands beside them there.
[[nodiscard]] std::string compile_options();

/// Compiles a source to a cubin for one arch. The source includes nothing and is all that there is: no headers, no precompiled
/// ones, no cache of NVRTC's own; the same source gives the same bytes from the same NVRTC.
///
/// Thread safe: compiles of several threads run at once (NVRTC 12.0 makes them wait for each other part of the time). Works in a
/// forked child, also where the fork came in the middle of a compile. Fails with `no_nvrtc`, `unsupported_arch`, or
/// `compile_failed` with the whole log.
[[nodiscard]] Result<CompiledCubin> compile(const Arch& arch, std::string_view source);

}  // namespace kiln::jit
