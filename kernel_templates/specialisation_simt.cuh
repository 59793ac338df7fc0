// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "specialisation.cuh"

// Stands in for the sizes that the SIMT family renders. Never embedded. src/model/families/simt_family.cpp says what each means.
namespace spec {
constexpr long long positions = 128;
constexpr long long filters = 64;
constexpr long long thread_positions = 8;
constexpr long long thread_filters = 8;
constexpr long long filter_lanes = 4;
constexpr long long chunk_channels = 4;
constexpr long long taps_h = 3;
constexpr long long taps_w = 3;
constexpr long long window_lanes = 1;
constexpr long long windows_at_once = 2;
constexpr long long blocks = 3;
constexpr long long shared_bytes = 42080;
}  // namespace spec
