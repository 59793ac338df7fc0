// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "specialisation.cuh"

// Stands in for the sizes that the mma_sync family renders. Never embedded. src/model/families/mma_tile.hpp says what each means.
namespace spec {
constexpr long long positions = 128;
constexpr long long filters = 64;
constexpr long long position_tiles = 2;
constexpr long long filter_tiles_each = 8;
constexpr long long k_warps = 1;
constexpr long long builder_warps = 0;
constexpr long long chunk_channels = 4;
constexpr long long taps_h = 3;
constexpr long long taps_w = 3;
constexpr long long window_lanes = 1;
constexpr long long windows_at_once = 2;
constexpr long long chain_steps = 1;
constexpr long long box_stages = 2;
constexpr long long blocks = 4;
constexpr long long shared_bytes = 88672;
}  // namespace spec
