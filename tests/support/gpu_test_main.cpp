// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "driver/device.hpp"
#include "support/run_catch.hpp"

/// 77 where there is no GPU, which CTest counts as skipped; a failure if `KILN_REQUIRE_GPU=1` says that there must be one.
int main(int argc, char** argv) {
    if (const auto device = kiln::driver::device(0); !device) {
        const char* required = std::getenv("KILN_REQUIRE_GPU");
        const bool is_required = required != nullptr && std::string_view(required) == "1";
        std::cout << (is_required ? "FAILED" : "SKIPPED") << ": no GPU to test on: " << device.error().message << '\n';
        return is_required ? 1 : 77;
    }
    return kiln::test::run_catch(argc, argv);
}
