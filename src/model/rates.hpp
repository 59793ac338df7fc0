// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kiln/arch.hpp>

namespace kiln {

/// What one GPU of an arch can do: what the families' cost models reckon with, and the limits that prune their tiles.
///
/// The arch does not say how many multiprocessors the GPU at hand has, so each row is that of one well-known GPU; grids are sized
/// at run time. What matters to a plan is how the rates stand to each other.
struct Rates {
    int multiprocessors;
    double clock_ghz;                     ///< sustained under load
    double memory_gb_s;                   ///< reading
    double l2_gb_s;                       ///< reading
    int fma_per_cycle;                    ///< fp32 multiply-adds, per multiprocessor
    int special_per_cycle;                ///< 2^x and 1/x, per multiprocessor
    int tf32_per_cycle;                   ///< dense TF32 multiply-adds by mma.sync, per multiprocessor; 0 where there is none
    int issue_per_cycle;                  ///< warp instructions, per multiprocessor
    int shared_bytes_per_cycle;           ///< of shared memory and L1, per multiprocessor
    int shared_bytes_per_block;           ///< the most that one block may have
    int shared_bytes_per_multiprocessor;  ///< what its blocks may have together, 1 KiB for each of the system's own included
    int l1_bytes;                         ///< of a multiprocessor, shared memory included
    int warps_per_multiprocessor;
    int registers_per_multiprocessor;
    double launch_us;          ///< an empty kernel in a graph
    double memory_latency_us;  ///< from a load to its use, from DRAM, under load
};

/// The row of this arch.
[[nodiscard]] const Rates& rates_of(const Arch& arch);

}  // namespace kiln
