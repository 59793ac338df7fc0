// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace kiln {

/// How the user's cache directory is used: `KILN_CACHE`.
enum class CacheMode {
    read_write,  ///< "rw", the default
    read_only,   ///< "ro": hits are taken, nothing is written
    off,         ///< "off": neither; kernels live in the memory of this process
};

/// Which cubins are accepted as hits: `KILN_TOOLCHAIN`.
enum class ToolchainPolicy {
    any,    ///< whichever NVRTC built it, the default
    exact,  ///< only those built by the libnvrtc that is installed here; its build-id enters the key
};

/// Where kernels are kept. A field that is not set is taken from the environment, then from the default.
struct CacheOptions {
    std::optional<std::filesystem::path> directory = {};            ///< `KILN_CACHE_DIR`, else XDG, else ~/.cache/kiln
    std::optional<CacheMode> mode = {};                             ///< `KILN_CACHE`
    std::optional<std::vector<std::filesystem::path>> layers = {};  ///< `KILN_CACHE_LAYERS`: read-only, searched first
    std::optional<std::uint64_t> maximum_bytes = {};                ///< `KILN_CACHE_MAX_SIZE`
    std::optional<bool> strict = {};                                ///< `KILN_STRICT`: a miss is an error
    std::optional<ToolchainPolicy> toolchain = {};                  ///< `KILN_TOOLCHAIN`
};

/// What a model is built with beside its spec. Options in code win over the environment.
struct Options {
    int device = 0;  ///< CUDA ordinal of the GPU that the model is bound to
    CacheOptions cache = {};
};

}  // namespace kiln
