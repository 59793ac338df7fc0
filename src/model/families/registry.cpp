// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "model/families/simt_family.hpp"
#include "model/planner.hpp"

namespace kiln {

std::span<const Family* const> all_families() {
    static const SimtFamily simt;
    static const std::array<const Family*, 1> families{&simt};
    return families;
}

}  // namespace kiln
