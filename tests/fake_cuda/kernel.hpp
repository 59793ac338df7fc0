// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/cubin.hpp"
#include "state.hpp"

/// A kernel and its function at once: the fake has one context for each device, and code that is the same in all of them.
struct CUfunc_st {
    kiln::driver::CubinInfo info;
    std::size_t parameter_bytes = 0;
    int allowed_dynamic_shared_bytes = 48 * 1024;  ///< what a launch may use without asking
};
