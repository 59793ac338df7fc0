// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "model/families/hopper_gemm_family.hpp"
#include "model/families/simt_family.hpp"
#include "model/planner.hpp"

namespace kiln {

std::span<const Family* const> all_families() {
    static const HopperGemmFamily hopper_gemm;
    static const SimtFamily simt;
    static const std::array<const Family*, 2> families{&hopper_gemm, &simt};
    return families;
}

}  // namespace kiln
