// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <kiln/arch.hpp>

namespace kiln {

/// The function in every cubin, whatever the family.
inline constexpr const char* kernel_function_name = "kiln_forward";

/// Everything that a kernel is made from. The key is computed from this and from nothing else.
struct KernelRequest {
    Arch arch;
    std::string family;   ///< "simt"
    std::string tile;     ///< "positions=128,filters=64"
    std::string options;  ///< the compiler's, in the order given to it
    std::string source;   ///< as it is compiled
    /// For people: stored in the entry, not in the key. A pure function of what is above, so that equal keys give equal entries.
    std::string spec_json;
};

}  // namespace kiln
