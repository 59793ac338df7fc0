// SPDX-License-Identifier: Apache-2.0
#include "support/skip.hpp"

#include <cstdio>
#include <cstdlib>

namespace kiln::test {

void skip(const std::string& why) {
    std::printf("skipped: %s\n", why.c_str());
    std::exit(77);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace kiln::test
