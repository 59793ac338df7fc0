// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvrtc.h>

/// Every entry point of libnvrtc that Kiln calls: our name and the function. All of them are in NVRTC 12.0.
#define KILN_NVRTC_ENTRY_POINTS(X)                        \
    X(version, nvrtcVersion)                              \
    X(get_error_string, nvrtcGetErrorString)              \
    X(get_num_supported_archs, nvrtcGetNumSupportedArchs) \
    X(get_supported_archs, nvrtcGetSupportedArchs)        \
    X(create_program, nvrtcCreateProgram)                 \
    X(destroy_program, nvrtcDestroyProgram)               \
    X(compile_program, nvrtcCompileProgram)               \
    X(get_cubin_size, nvrtcGetCUBINSize)                  \
    X(get_cubin, nvrtcGetCUBIN)                           \
    X(get_program_log_size, nvrtcGetProgramLogSize)       \
    X(get_program_log, nvrtcGetProgramLog)

namespace kiln::jit {

/// NVRTC's functions, as found in one libnvrtc.
struct NvrtcEntryPoints {
#define KILN_DECLARE(name, symbol) decltype(&::symbol) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
    KILN_NVRTC_ENTRY_POINTS(KILN_DECLARE)
#undef KILN_DECLARE
};

}  // namespace kiln::jit
