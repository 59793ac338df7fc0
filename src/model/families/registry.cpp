// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "model/families/hopper_gemm_family.hpp"
#include "model/families/hopper_shift_family.hpp"
#include "model/families/hopper_stream_family.hpp"
#include "model/families/mma_family.hpp"
#include "model/families/simt_family.hpp"
#include "model/planner.hpp"

namespace kiln {

std::span<const Family* const> all_families() {
    static const HopperGemmFamily hopper_gemm;
    static const HopperShiftFamily hopper_shift;
    static const HopperStreamFamily hopper_stream;
    static const MmaFamily mma_sync;
    static const SimtFamily simt;
    static const std::array<const Family*, 5> families{&hopper_stream, &hopper_shift, &hopper_gemm, &simt, &mma_sync};
    return families;
}

}  // namespace kiln
