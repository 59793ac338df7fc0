// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stands in for the tile's constants, so that the template can be read, compiled and disassembled on its own. Never embedded.
namespace spec {
constexpr long long warpgroups = 2;
constexpr long long builders = 2;
constexpr long long filters = 64;
constexpr long long channels = 8;
constexpr long long splits = 1;
constexpr long long steps = 5;
constexpr long long stages = 3;
constexpr long long bf16_corrections = 0;
constexpr long long map_rows = 4;
constexpr long long map_floats = 9984;
constexpr long long pixel_stages = 2;
constexpr long long pixel_floats = 9984;
constexpr long long shared_bytes = 229888;
}  // namespace spec
