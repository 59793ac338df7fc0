// SPDX-License-Identifier: Apache-2.0
#include "specialisation.cuh"
#include "specialisation_hopper_shift.cuh"
#include "arguments.cuh"
#include "common.cuh"
#include "common_spec.cuh"
#include "hopper_early_start.cuh"
#include "mbarrier.cuh"
#include "hopper_mbarrier.cuh"
#include "hopper_copy.cuh"
#include "hopper_cluster.cuh"
#include "hopper_warpgroup.cuh"
#include "hopper_wgmma_group.cuh"
#include "hopper_wgmma_chain.cuh"
#include "hopper_axis.cuh"
#include "hopper_turn.cuh"
#include "hopper_shift_sizes.cuh"
#include "hopper_shift_units.cuh"
#include "hopper_shift_barriers.cuh"
#include "hopper_runs.cuh"
#include "hopper_shift_feed.cuh"
#include "hopper_shift_map.cuh"
#include "hopper_shift_parts.cuh"
#include "hopper_shift_product.cuh"
#include "hopper_shift_images.cuh"

// Convolution, pooling, activation and sum as one matrix product on Hopper's tensor cores, both of whose factors are in shared
// memory, for specs that the tensor cores bound.
//
//   z[o, m] = bias[o] + Σ_k A[o, k] · B[k, m]     k = (channel, ky, kx)     m = (image, i, j), and places between
//   B[k, m] = Box[channel][step·i + dilation·ky][step·j + dilation·kx],  step = stride·pool     A = weights / pool area
//
// A unit of work is a tile of places times 128 filters, 64 for each of two consumer warpgroups. Chunk by chunk of channels:
//
//   x (global) ──feeding warp──▶ pixels ──builders──▶ box map (shared, two in turn) ─────────────────┐
//               bulk copies, a ring   sums of lines, then     phase by phase, place by place          ├─wgmma─▶ chain ─▶ sums
//               of four channels      of columns; split into  [c0 c1 c2 c3]: 16 bytes of 4 channels   │      (registers)
//                                     rounded + rest                                                  │
//   weights (global, in order of use) ──finishing warp, bulk copies──▶ stages (shared, a ring) ───────┘
//
//   sums ─(parts of k meet)─▶ + bias, activation, Σ over filters ─▶ sums of places (shared) ──finishing warp──▶ images
//
// Places follow each other row by row with what the taps reach beyond the rows, so the boxes that a tap sees of all of a tile's
// places lie together: B of one k-step is a start in the map, 8 places in each core matrix of 8 × 16 bytes,
//
//   rows of 3 positions, reach 1:   m0 m1 m2 -- m3 m4 m5 -- m6 …        tap 0 starts at m0, the next tap of its phase at m1,
//                                   └───── N places from m0 ─────┘        one a row further at m3: only the descriptor differs
//
// and each box is made, rounded and split once, not once for each tap that sees it.
//
// Small images leave few places to a row. Where `beside` images are taken together, what is a place above is a spot, with a place
// for each of them: one core matrix. Their tiles are whole rows, few enough that several blocks share a unit's channels.
extern "C" __global__ void __launch_bounds__(kiln::threads, 1) kiln_forward(const __grid_constant__ ForwardArguments arguments) {
    using namespace kiln;
    extern __shared__ __align__(1024) unsigned char shared[];
    griddepcontrol_launch_dependents();
    if (threadIdx.x == 0) Barriers(shared).init();
    __syncthreads();

    if (threadIdx.x < consumer_threads) {
        setmaxnreg_inc<consumer_registers>();
        multiply_maps(arguments, shared);
    } else {
        setmaxnreg_dec<builder_registers>();
        const int warp = static_cast<int>(threadIdx.x / 32);
        if (warp == finishing_warp) {
            finish_images(arguments, shared);
            return;
        }
        if (warp == feeding_warp) {
            feed_pixels(arguments, shared);
        } else {
            build_maps(arguments, shared);
        }
        if (Share::splits_of(arguments) > 1) {
            let_pair_meet();
            barrier_cluster_wait();
        }
    }
}
