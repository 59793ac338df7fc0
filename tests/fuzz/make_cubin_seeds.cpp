// SPDX-License-Identifier: Apache-2.0
// make_cubin_seeds FOLDER: small cubins of each layout, so that the fuzzer begins behind the first checks.
#include <fstream>
#include <string>
#include <vector>

#include "support/cubin_builder.hpp"

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const std::vector<kiln::test::CubinFacts> seeds{
        {},
        {.arch_number = 90, .arch_suffix = "a", .local_bytes = 16, .static_shared_bytes = 4096, .abi_version = 7},
        {.arch_number = 75, .arch_suffix = "", .abi_version = 7},
        {.arch_number = 100, .arch_suffix = "f", .static_shared_bytes = 64},
        {.arch_number = 120, .arch_suffix = "", .toolchain = ""},
        {.kernel = "another"},
    };
    for (std::size_t i = 0; i < seeds.size(); ++i) {
        const auto cubin = kiln::test::build_cubin(seeds[i]);
        std::ofstream file(std::string(arguments[1]) + "/cubin_" + std::to_string(i), std::ios::binary);
        file.write(reinterpret_cast<const char*>(cubin.data()), static_cast<std::streamsize>(cubin.size()));
        if (!file.flush()) return 1;
    }
    return 0;
}
