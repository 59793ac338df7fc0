// SPDX-License-Identifier: Apache-2.0
#include "specialisation_mma_sync.cuh"
#include "arguments.cuh"
#include "common.cuh"
#include "common_spec.cuh"
#include "tile_sizes.cuh"
#include "mma_sync_instructions.cuh"
#include "mma_sync_sizes.cuh"
#include "mbarrier.cuh"
#include "mma_sync_barriers.cuh"
#include "tile_boxes.cuh"
#include "tile_sums.cuh"
#include "mma_sync_product.cuh"
#include "mma_sync_chunks.cuh"
#include "tile_images.cuh"

// Tensor cores by mma.sync, for every chip that has TF32 (sm_80 and later), right for every spec and shape.
//
//     z[position, o] = bias[o] + Σ over k of box[k, position]·weight[k, o]        k = (channel, ky, kx)
//     y[image]       = Σ over its positions and all o of activation(z)
//
// Positions are flattened over the batch: m = (image·pooled_height + i)·pooled_width + j. A tile is `positions` consecutive m by
// `filters` filters, so tiles neither know nor care where rows and images end. Each block takes a run of consecutive tiles, and
// goes through k in chunks; blocks share a multiprocessor, so that one waits for memory or builds while others multiply.
//
//     x ──loads──▶ registers ──box sums──▶ boxes[k][position] (shared) ──▶ A: large + small parts (registers) ─┐ mma.sync
//     weights, split on the host ──cp.async──▶ weights[k-step][8 filters][lane] (shared) ──▶ B: both parts ────┴──▶ chain
//     chain, from zero, of a few k-steps ──added──▶ totals ──bias, activation──▶ a sum per position ──▶ per image ──▶ meet ──▶ y
//
// fp32 takes three products a step: small·large and large·small, then large·large. tf32 takes the last alone. Where positions are
// few and k is long, several warps share a part of the tile: they take chains in turn, and add their totals before the
// activation. Packed weights: [filter tile][chunk][k-step][8 filters][lane][2 or 4], zero where padded, scaled; then the bias,
// scaled.

extern "C" __global__ void __launch_bounds__(kiln::block_threads, static_cast<int>(spec::blocks))
    kiln_forward(const __grid_constant__ ForwardArguments arguments) {
    using namespace kiln;
    extern __shared__ float4 dynamic_shared[];
    Shared& shared = *reinterpret_cast<Shared*>(dynamic_shared);
    if (threadIdx.x == 0) {
        shared.share = share_of_work(arguments);
        shared.current_image = -1;
        if constexpr (builds_apart) StageBarriers::init(shared);
    }
    __syncthreads();
    if constexpr (builds_apart) {
        if (thread_index() >= threads) {
            prepare(shared, arguments);
            build_tiles(shared, arguments);
        } else {
            run_tiles(shared, arguments);
        }
    } else {
        prepare(shared, arguments);
        run_tiles(shared, arguments);
        cp_async_wait_all();  // the weights after the last
    }
}
