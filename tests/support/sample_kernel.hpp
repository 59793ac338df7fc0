// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cache/entry.hpp"
#include "cache/kernel_request.hpp"
#include "support/bytes.hpp"

namespace kiln::test {

/// A small request that stands for any.
inline KernelRequest sample_request() {
    return {Arch::sm_90a,
            "simt",
            "positions=128,filters=64",
            "-arch=sm_90a\n-std=c++17",
            "constexpr int n = 8;\nkernel text\n",
            R"({"in_channels":8})"};
}

inline Bytes bytes_of(std::string_view text) {
    const ByteView view = as_bytes(text);
    return {view.begin(), view.end()};
}

inline Bytes sample_cubin() {
    return bytes_of("these bytes stand for a cubin");
}

inline EntryFacts sample_facts() {
    return {"NVRTC 13.0", R"({"in_channels":8})"};
}

}  // namespace kiln::test
