// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stands in for the tile's constants, so that the template can be read, compiled and disassembled on its own. Never embedded.
namespace spec {
constexpr long long warps = 12;
constexpr long long channels = 8;
constexpr long long keeps_rows = 1;
constexpr long long stage_rows = 2;
constexpr long long filters = 64;
constexpr long long shared_bytes = 232448;
}  // namespace spec
