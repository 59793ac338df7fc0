// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

/// Where libnvrtc is looked for. In this order, and in each directory the newest libnvrtc.so.N (N from 12) first, then
/// libnvrtc.so:
///
///  1. `KILN_NVRTC_LIBRARY`, a path: nothing else is looked at if it is set
///  2. what the dynamic linker searches: LD_LIBRARY_PATH, the run path of the program or library that holds Kiln, the
///     directories of /etc/ld.so.conf, and the system's
///  3. CUDA toolkits: `CUDA_PATH`, `CUDA_HOME`, /usr/local/cuda, /usr/local/cuda-* (newest first), /opt/cuda; in each lib64,
///     targets/<machine>-linux/lib and lib
///  4. NVIDIA's wheels and conda's packages: for `VIRTUAL_ENV`, `CONDA_PREFIX`, ~/.local, /usr/local and /usr, lib itself and
///     lib/python3*/{site,dist}-packages/nvidia/{cu*,cuda_nvrtc}/lib
///
/// Files are looked at, not opened: finding NVRTC costs no loading of it, and tells its build-id.
namespace kiln::jit {

/// The major version of the oldest NVRTC that serves: that of CUDA 12.
inline constexpr int oldest_major = 12;

struct SearchPlaces {
    std::string library;                                    ///< step 1; empty: not set
    std::vector<std::filesystem::path> linker_directories;  ///< step 2
    std::vector<std::filesystem::path> toolkits;            ///< step 3
    std::vector<std::filesystem::path> prefixes;            ///< step 4
};

/// The places of this process, from its environment and its system.
[[nodiscard]] SearchPlaces search_places();

/// Calls `take` with the files that are there, first choice first, each once, until it answers true; looks no further then.
/// With `library` set: that alone, whether it is there or not.
void search_nvrtc(const SearchPlaces& places, const std::function<bool(const std::filesystem::path&)>& take);

/// The library of device code that a libnvrtc opens by name when it compiles, if it lies beside it; empty otherwise. Not every
/// libnvrtc looks beside itself.
[[nodiscard]] std::filesystem::path builtins_beside(const std::filesystem::path& nvrtc, int major, int minor);

}  // namespace kiln::jit
