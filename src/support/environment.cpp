// SPDX-License-Identifier: Apache-2.0
#include "support/environment.hpp"

#include <cstdlib>

namespace kiln {

std::string environment(const char* name) {
    const char* value = secure_getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

}  // namespace kiln
