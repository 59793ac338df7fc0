// SPDX-License-Identifier: Apache-2.0
#include "model/families/hopper_gemm_windows.hpp"

#include <array>

#include "support/catch.hpp"

namespace kiln {

namespace {

/// How often lanes of a warp meet another in a bank, over all alignments of the input, counted lane by lane.
std::int64_t meetings(std::int64_t stride, std::int64_t step, std::int64_t plane, bool twos_in_turn) {
    std::int64_t all = 0;
    for (std::int64_t alignment = 0; alignment < 4; ++alignment) {
        std::array<std::int64_t, 32> lanes{};
        for (std::int64_t lane = 0; lane < 32; ++lane) {
            const std::int64_t channel = lane % 4, planes = twos_in_turn ? channel % 2 : channel;
            const std::int64_t shift = (alignment + planes * plane) % 4;
            all += lanes.at(static_cast<std::size_t>((lane / 4 * step + channel * stride + shift) % 32))++;
        }
    }
    return all;
}

}  // namespace

TEST_CASE("Without maps a thread reads what two neighbouring positions need") {
    const GemmWindows odd({.in_channels = 16, .out_channels = 32, .kernel_size = 5, .pool_kernel_size = 3});
    CHECK(odd.lines == 7);
    CHECK(odd.columns == 10);
    CHECK(odd.boxes == 8);  // five taps of one, five of the other, two of them the same
    const GemmWindows apart({.in_channels = 16, .out_channels = 32, .kernel_size = 2, .pool_kernel_size = 2, .stride = 3});
    CHECK(apart.lines == 4);
    CHECK(apart.columns == 8);
    CHECK(apart.boxes == 4);
}

TEST_CASE("Without maps channels lie where the fewest lanes meet in a bank, the first of such distances") {
    for (const bool twos_in_turn : {false, true}) {
        for (std::int64_t width = 128; width < 132; ++width) {
            for (std::int64_t step = 2; step <= 24; step += 2) {
                for (const std::int64_t stride : {400, 404, 428}) {
                    const std::int64_t found = apart_in_banks(stride, step, {1, 127, width}, twos_in_turn);
                    REQUIRE((found >= stride && found < stride + 32 && found % 4 == 0));
                    const std::int64_t least = meetings(found, step, 127 * width, twos_in_turn);
                    for (std::int64_t other = stride; other < stride + 32; other += 4) {
                        CHECK(meetings(other, step, 127 * width, twos_in_turn) >= least + (other < found ? 1 : 0));
                    }
                }
            }
        }
    }
}

}  // namespace kiln
