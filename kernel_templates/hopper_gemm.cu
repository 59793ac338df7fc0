// SPDX-License-Identifier: Apache-2.0
#include "specialisation.cuh"
#include "specialisation_hopper_gemm.cuh"
#include "arguments.cuh"
#include "common.cuh"
#include "common_spec.cuh"
#include "mbarrier.cuh"
#include "hopper_mbarrier.cuh"
#include "hopper_copy.cuh"
#include "hopper_early_start.cuh"
#include "hopper_warpgroup.cuh"
#include "hopper_wgmma_group.cuh"
#include "hopper_wgmma.cuh"
#include "hopper_cluster.cuh"
#include "hopper_axis.cuh"
#include "hopper_turn.cuh"
#include "hopper_gemm_sizes.cuh"
#include "hopper_gemm_units.cuh"
#include "hopper_gemm_barriers.cuh"
#include "hopper_runs.cuh"
#include "hopper_gemm_pixels.cuh"
#include "hopper_gemm_feed.cuh"
#include "hopper_gemm_map.cuh"
#include "hopper_gemm_windows.cuh"
#include "hopper_gemm_product.cuh"
#include "hopper_gemm_images.cuh"

// Convolution, pooling, activation and sum as one matrix product on Hopper's tensor cores, for specs that the tensor cores bound.
//
//   z[m, o] = bias[o] + Σ_k A[m, k] · B[k, o]     m = (image, i, j), flattened     k = (channel, ky, kx)
//   A[m, k] = Box[channel][step·i + dilation·ky][step·j + dilation·kx],  step = stride·pool     B = weights / pool area
//
// A unit of work is a tile of 64 positions for each consumer warpgroup, times `filters` filters. Chunk by chunk of channels:
//
//   x (global)  ──builders──▶  box map (shared, two in turn)  ──gather──▶  A fragments (registers)  ─┐
//                 row sums, then columns;          4 values a k-step and thread,                       ├─wgmma─▶ chain ─▶ sums
//                 phases of x mod step apart       split into rounded + rest                           │   (registers)
//   weights (global, in order of use)  ──bulk copies──▶  stages (shared, a ring)  ────────────────────┘
//
//   sums ─(cluster: parts of k meet)─▶ + bias, activation, Σ over filters ─▶ position sums (shared) ──finishing warp──▶ images
//
// Where builders would have more to do than consumers (few filters), there are no maps: a consumer thread sums the boxes of two
// neighbouring positions from pixels (hopper_gemm_windows.cuh).
//
// One wgmma takes 64 positions × 8 of k from registers; a warp has 16 positions, lane 4g + t rows g and g + 8, columns t and
// t + 4:
//
//        k:  0   1   2   3  |  4   5   6   7
//   row g    t=0 t=1 t=2 t=3|t=0 t=1 t=2 t=3      column k ↔ place 8·step + k of the chunk: four channels of one tap, whose
//   row g+8  ……             |                     maps lie 8 banks apart, × 8 neighbouring positions = 32 banks
extern "C" __global__ void __launch_bounds__(kiln::threads, 1) kiln_forward(const __grid_constant__ ForwardArguments arguments) {
    using namespace kiln;
    extern __shared__ __align__(1024) unsigned char shared[];
    griddepcontrol_launch_dependents();
    if (threadIdx.x == 0) {
        Barriers(shared).init();
        *reinterpret_cast<Share*>(shared + share_at) = Share(arguments);
    }
    __syncthreads();

    if (threadIdx.x < consumer_threads) {
        if constexpr (moves_registers) setmaxnreg_inc<consumer_registers>();
        if constexpr (has_maps) {
            multiply_maps(arguments, shared);
        } else {
            multiply_windows(arguments, shared);
        }
    } else {
        if constexpr (moves_registers) setmaxnreg_dec<builder_registers>();
        const int warp = static_cast<int>(threadIdx.x / 32);
        if (warp < pixel_warp) {
            if constexpr (has_maps) build_maps(arguments, shared);
        } else if (warp == pixel_warp) {
            feed_pixels(arguments, shared);
        } else if (warp == weight_warp && threadIdx.x % 32 == 0) {
            feed_weights(arguments, shared);
        }
        __syncwarp();
        if (Share::splits_of(arguments) > 1) {  // the consumers' meeting counts all threads
            barrier_cluster_arrive();
            barrier_cluster_wait();
            barrier_cluster_arrive();
            barrier_cluster_wait();
        }
        if (warp == finishing_warp) {
            finish_images(arguments, shared);
        }
    }
}
