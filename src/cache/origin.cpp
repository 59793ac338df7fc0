// SPDX-License-Identifier: Apache-2.0
#include <kiln/report.hpp>

namespace kiln {

std::string_view to_string(Origin origin) noexcept {
    switch (origin) {
        case Origin::compiled: return "compiled";
        case Origin::memory: return "memory";
        case Origin::user: return "user";
        case Origin::layer: return "layer";
        case Origin::bundle: break;
    }
    return "bundle";
}

}  // namespace kiln
