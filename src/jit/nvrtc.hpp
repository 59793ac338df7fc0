// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <kiln/arch.hpp>

#include "jit/nvrtc_entry_points.hpp"
#include "support/result.hpp"

namespace kiln::jit {

/// libnvrtc as it was found. Immutable.
struct Nvrtc {
    NvrtcEntryPoints functions;
    std::string path;  ///< of the file
    int major = 0;     ///< of its version
    int minor = 0;
    std::vector<int> arch_numbers;  ///< as it lists them, without suffixes: 90 stands for sm_90 and sm_90a

    [[nodiscard]] std::string version() const;  ///< "13.0"
    [[nodiscard]] bool supports(const Arch& arch) const;

    /// Those of Kiln's archs that it can build for, lowest number first.
    [[nodiscard]] std::vector<Arch> supported_archs() const;
};

/// A hold on NVRTC while its functions are called.
///
/// A child that is forked meanwhile cannot use the library that it inherits: locks of NVRTC's may be held for ever in it. With
/// the hold it knows, and opens a copy of its own.
class NvrtcInUse {
public:
    NvrtcInUse(const NvrtcInUse&) = delete;
    NvrtcInUse& operator=(const NvrtcInUse&) = delete;
    NvrtcInUse();
    ~NvrtcInUse();

    /// The library, opened when first asked for; `jit/nvrtc_search.hpp` says where. It stays open for the life of the process; a
    /// failure (`no_nvrtc`, naming every place that was tried) is not remembered. Thread safe.
    [[nodiscard]] Result<const Nvrtc*> library() const;

private:
    unsigned generation_;  ///< of forks, when the hold began
};

/// The facts about NVRTC, for people; loads it.
[[nodiscard]] Result<Nvrtc> describe_nvrtc();

/// What tells one libnvrtc from another, without loading it: the GNU build-id of the file that would be opened.
[[nodiscard]] Result<std::string> nvrtc_build_id();

}  // namespace kiln::jit
