// SPDX-License-Identifier: Apache-2.0
#include "specialisation_simt.cuh"
#include "arguments.cuh"
#include "common.cuh"
#include "common_spec.cuh"
#include "tile_sizes.cuh"
#include "simt_sizes.cuh"
#include "tile_boxes.cuh"
#include "tile_sums.cuh"
#include "simt_weights.cuh"
#include "simt_product.cuh"
#include "tile_images.cuh"

// The fp32 family: plain fused multiply-adds, right for every spec and shape.
//
//     z[position, o] = bias[o] + Σ over k of box[k, position]·weight[k, o]        k = (channel, ky, kx)
//     y[image]       = Σ over its positions and all o of activation(z)
//
// Positions are flattened over the batch: m = (image·pooled_height + i)·pooled_width + j. A tile is `positions` consecutive m by
// `filters` filters, so tiles neither know nor care where rows and images end. Each block takes a run of consecutive tiles, and
// goes through k in chunks, building and multiplying in turn; blocks share a multiprocessor, so that one builds while others
// multiply.
//
//     x ──loads──▶ registers ──box sums──▶ boxes[k][position] ─┐
//     weights ──────loads, stores────────▶ weights[k][filter] ─┴─▶ sums[8][8] in registers, a chain of k at a time
//     sums ──added──▶ totals[8][8] ──bias, activation──▶ a sum per position ──▶ a sum per image ──▶ meet ──▶ y
//
// Packed weights: [filter tile][chunk][k][filter], zero where padded, scaled; then the bias, [filter tile][filter], scaled.

extern "C" __global__ void __launch_bounds__(kiln::threads, static_cast<int>(spec::blocks))
    kiln_forward(const __grid_constant__ ForwardArguments arguments) {
    using namespace kiln;
    extern __shared__ float4 dynamic_shared[];
    Shared& shared = *reinterpret_cast<Shared*>(dynamic_shared);
    if (threadIdx.x == 0) {
        shared.share = share_of_work(arguments);
        shared.current_image = -1;
        shared.zero = 0;
    }
    __syncthreads();
    if constexpr (weights_stay) {
        copy_weights<chunks * chunk_k * filters, 0, 8>(static_cast<const float*>(arguments.weights), shared.weights);
        __syncthreads();
    }
    run_tiles(shared, arguments);
}
