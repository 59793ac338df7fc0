// SPDX-License-Identifier: Apache-2.0
// What compute-sanitizer runs: memcheck for reads and writes past an edge, racecheck for shared memory. Small, because it is
// slow.
#include <vector>

#include "support/catch.hpp"
#include "support/contract.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

TEST_CASE("every family over small odd shapes", "[sanitizer]") {
    check_contract_in_every_family({
        drawn_case({.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4}, {3, 30, 45}, 101),
        drawn_case({.in_channels = 3, .out_channels = 16, .kernel_size = 3, .pool_kernel_size = 2}, {5, 13, 15}, 102),
        drawn_case({.in_channels = 20, .out_channels = 70, .kernel_size = 5, .pool_kernel_size = 3}, {2, 18, 21}, 103),
        drawn_case({.in_channels = 5, .out_channels = 9, .kernel_size = 3, .pool_kernel_size = 2, .stride = 2, .padding = 1},
                   {3, 17, 19}, 104),
        drawn_case({.in_channels = 32, .out_channels = 10, .kernel_size = 1, .pool_kernel_size = 7}, {9, 14, 14}, 105),
        drawn_case({.in_channels = 1, .out_channels = 8, .kernel_size = 7, .pool_kernel_size = 20}, {1, 70, 71}, 106),
        drawn_case({.in_channels = 64, .out_channels = 72, .kernel_size = 3, .pool_kernel_size = 2}, {2, 10, 11}, 108),
        drawn_case({.in_channels = 24, .out_channels = 136, .kernel_size = 3, .pool_kernel_size = 1, .padding = 1}, {3, 9, 10},
                   109),
        drawn_case({.in_channels = 3, .out_channels = 24, .kernel_size = 7, .pool_kernel_size = 2, .dilation = {1, 2}},
                   {2, 31, 290}, 110),
        drawn_case({.in_channels = 12, .out_channels = 20, .kernel_size = 3, .pool_kernel_size = 2}, {80, 5, 5}, 111),
        drawn_case({.in_channels = 3, .out_channels = 64, .kernel_size = 4, .pool_kernel_size = 2, .padding = 2}, {2, 21, 22},
                   112),
    });
}

TEST_CASE("images that blocks share, over memory that ends with the input", "[sanitizer]") {
    const ModelSpec spec{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4};
    const std::vector<RandomCase> cases{drawn_case(spec, {2, 90, 96}, 107), drawn_case(spec, {2, 90, 97}, 113),
                                        drawn_case(spec, {2, 90, 98}, 114)};
    for (const std::size_t offset : {0U, 1U}) check_contract_in_every_family(cases, Tolerance::sum, offset);
}
