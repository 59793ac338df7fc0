// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stands in for the tile's constants, so that the template can be read, compiled and disassembled on its own. Never embedded.
namespace spec {
constexpr long long beside = 1;
constexpr long long bf16_corrections = 0;
constexpr long long places = 64;
constexpr long long fours = 2;
constexpr long long steps = 3;
constexpr long long stages = 8;
constexpr long long map_rows = 1;
constexpr long long map_places = 64;
constexpr long long short_places = 64;
constexpr long long columns = 128;
constexpr long long runs = 40;
constexpr long long pixel_stages = 2;
constexpr long long pixel_floats = 8192;
}  // namespace spec
