// SPDX-License-Identifier: Apache-2.0
#include "specialisation.cuh"
#include "specialisation_hopper_stream.cuh"
#include "arguments.cuh"
#include "common.cuh"
#include "common_spec.cuh"
#include "hopper_early_start.cuh"
#include "mbarrier.cuh"
#include "hopper_mbarrier.cuh"
#include "hopper_copy.cuh"
#include "hopper_tensor_copy.cuh"
#include "hopper_warpgroup.cuh"
#include "hopper_wgmma_group.cuh"
#include "hopper_wgmma.cuh"
#include "hopper_wgmma_registers.cuh"
#include "hopper_stream_sizes.cuh"
#include "hopper_stream_panels.cuh"
#include "hopper_stream_layout.cuh"
#include "hopper_stream_producer.cuh"
#include "hopper_stream_boxes.cuh"
#include "hopper_stream_product.cuh"
#include "hopper_stream_consumer.cuh"
#include "hopper_stream_images.cuh"

// The family for few channels and small kernels, which are bound by reading the input once.
//
//   input rows ──copy engine──> ring of slots ──LDS──> registers of 12 warps: box sums = operand A ──wgmma──> logits ──> sums
//                               in shared memory                   weights = operand B, in shared memory ──┘
//
// One block a multiprocessor stays for the whole launch. A warp owns 16 pooled columns of a strip and walks down its stream's
// rows: lane (g, t) = (lane / 4, lane % 4) holds two neighbouring positions of the 16, of which it sums the boxes of channels t,
// t + 4, … That is where the tensor cores want operand A: row g of a warp's 16 is the one, row g + 8 the other. A slot
// is free for the next copy as soon as its rows are summed; the rows that the next window shares stay in registers as sums. The
// warpgroups take turns on the tensor cores, so that one multiplies while another sums boxes and a third one takes sigmoids.
namespace kiln {

/// src/model/forward_arguments.hpp: KernelParameter.
struct StreamParameter {
    ForwardArguments forward;
    TensorMap input_map;  // for boxes of a panel; only where the copy engine can bring them
};

/// Consumer warps' whole life.
__device__ __forceinline__ void consume(const ForwardArguments& arguments, const Layout& layout, Station& station,
                                        unsigned char* shared, const Walk& start, int warp) {
    const int warpgroup = warp / 4;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int stream = small_quotient(warp, layout.blocks());
    const int block = warp - stream * layout.blocks();

    Consumer self{layout, shared};
    self.slot = layout.ring_of(stream);
    self.ring_end = layout.ring_of(stream + 1);
    self.slot_bytes = layout.slot_bytes();
    self.row_bytes = 4 * layout.pitch();
    const int first_column = block * warp_columns + lane_column(lane);  // of the lane's positions, in a strip
    const int offset_column = first_column < arguments.pooled_width ? first_column : 0;
    self.start(column_step * offset_column, lane % 4);

    // A segment: the units down to the end of the strip or of the run.
    int units = 0;
    const auto start_segment = [&]() {
        const Walk& walk = station.walk;
        units = smaller(walk.units, arguments.pooled_height - walk.row);
        const int column = (walk.strip * layout.blocks() + station.block) * warp_columns + lane_column(lane_index());
        self.flags = Consumer::fresh | (column < arguments.pooled_width ? Consumer::has_first : 0) |
                     (column + 1 < arguments.pooled_width ? Consumer::has_second : 0);
    };
    if (lane == 0) station.pending = 0;
    if (stream < layout.streams()) {
        Station first;
        first.run = layout.run_of(stream);
        first.block = block;
        first.walk = start;
        first.pending = 0;
        if (lane == 0) station = first;
        __syncwarp();
        start_segment();
    }

    // The same in all lanes, and known to be: the tensor cores take descriptors from uniform registers.
    const unsigned weights = __shfl_sync(0xffffffffu, first_operand(shared_address(shared) + weights_offset), 0);
    RowSums kept[lane_channels][most_kept];
    double total = 0;
    if (warpgroups > 1 && warpgroup == warpgroups - 1) barrier_arrive(1, 256);
#pragma unroll 1
    for (int round = layout.units(0); round > 0; --round) {
        float products[filters / 2];
        float sums[promotes ? filters / 2 : 1];  // each chain's products are added to these, rounded to nearest
        Fragments fragments;
#pragma unroll 1
        for (int pass = 0; pass < passes; ++pass) {
            Boxes boxes[lane_channels];
            if (units > 0) {
                if constexpr (sums_groups) {
                    self.sum_groups(boxes, kept);
                } else {
                    self.sum_boxes(boxes, kept);
                }
            } else {
#pragma unroll
                for (int channel = 0; channel < lane_channels; ++channel)
                    boxes[channel].clear();  // lest the compiler keep old ones
            }
            fragments.make(boxes);
            mbarrier_wait_parity_unseen(shared_address(shared) + weights_barrier_offset, 0);  // only the first time for long

#pragma unroll 1
            for (int tile = 0; tile < filter_tiles; ++tile) {
                const unsigned tile_weights = weights + ((pass * filter_tiles + tile) * tile_bytes >> 4);
#pragma unroll
                for (int chain = 0; chain < chains; ++chain) {
                    if (warpgroups > 1) barrier_sync(1 + warpgroup, 256);
                    start_products(fragments, tile_weights, chain * chain_steps, smaller((chain + 1) * chain_steps, k_steps));
                    if (warpgroups > 1) barrier_arrive(1 + (warpgroup + 1) % warpgroups, 256);
                    wgmma_wait_group<0>();
                    take_chain(products);
                    if constexpr (promotes) {
                        const bool is_first = pass == 0 && chain == 0;
#pragma unroll
                        for (int i = 0; i < filters / 2; ++i) sums[i] = is_first ? products[i] : sums[i] + products[i];
                    }
                }
                if (pass < passes - 1 || units == 0) continue;
                const int first_filter = tile * filters + lane_index() % 4 * 2;
                const float* bias = reinterpret_cast<const float*>(shared + weights_offset + weights_bytes - bias_bytes);
                total += static_cast<double>(sum_activations(promotes ? sums : products, bias + first_filter,
                                                             out_channels - first_filter, (self.flags & Consumer::has_first) != 0,
                                                             (self.flags & Consumer::has_second) != 0));
            }
        }
        if (units == 0) continue;
        self.flags &= ~Consumer::fresh;
        if (--units > 0) continue;

        Walk next = station.walk;
        const Index image = next.image;
        next.advance(arguments, layout, smaller(next.units, arguments.pooled_height - next.row));
        const bool is_image_done = next.units == 0 || next.image != image;
        const int pending = station.pending + (is_image_done ? 1 : 0);
        const double sum = is_image_done ? lane_group_sum(total) : 0;
        __syncwarp();
        if (lane == 0) {
            station.walk = next;
            station.pending = pending;
            if (is_image_done) {
                station.totals[pending - 1] = sum;
                station.images[pending - 1] = image;
            }
        }
        __syncwarp();
        if (is_image_done) {
            total = 0;
            if (layout.own_images() == 0 && (next.units == 0 || pending == most_pending)) {
                meet_pending(arguments, layout, &station, stream, block);
                if (next.units > 0 && layout.blocks() > 1) barrier_sync(1 + warpgroups + stream, 32 * layout.blocks());
                __syncwarp();
                if (lane == 0) station.pending = 0;
                __syncwarp();
            }
        }
        if (next.units > 0) start_segment();
    }
    if (warpgroups > 1 && warpgroup == 0) barrier_sync(1, 256);
    if (layout.own_images() != 0) {
        barrier_sync(1 + warpgroups, consumer_threads);
        if (warp == 0) finish_own_images(arguments, layout, &station);
    }
}

}  // namespace kiln

extern "C" __global__ void __launch_bounds__(kiln::threads, 1)
    kiln_forward(const __grid_constant__ kiln::StreamParameter parameter) {
    using namespace kiln;
    const ForwardArguments& arguments = parameter.forward;
    extern __shared__ __align__(1024) unsigned char shared[];
    griddepcontrol_launch_dependents();
    declare_chain();
    const unsigned shared_base = shared_address(shared);
    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);  // known to be the warp's
    const Layout layout{arguments};

    // An mbarrier takes its thread some 60 cycles: a few for each warp.
    if (threadIdx.x % 32 == 0) {
        const int full_arrivals = (layout.is_bulk() ? 1 : 32) << layout.parts_log2();
#pragma unroll 1
        for (int slot = warp; slot < layout.slots() * layout.streams(); slot += threads / 32) {
            const unsigned full = shared_base + ring_offset + slot * layout.slot_bytes();
            mbarrier_init(full, full_arrivals);
            mbarrier_init(full + 8, layout.blocks());
        }
        if (warp == warps) mbarrier_init(shared_base + weights_barrier_offset, 1);
        fence_mbarrier_init();
        if (warp == warps) {
            mbarrier_arrive_expect_tx(shared_base + weights_barrier_offset, weights_bytes);
            cp_async_bulk(shared_base + weights_offset, arguments.weights, weights_bytes, shared_base + weights_barrier_offset);
            if constexpr (has_panels) prefetch_tensormap(parameter.input_map);
        }
    }
    // Where the warp's stream starts, or the lane's of a producer.
    const bool is_producer = warp >= warps;
    const int groups_log2 = 2 - layout.parts_log2();
    const int stream = is_producer
                           ? ((warp - warps) & ((1 << groups_log2) - 1)) + (static_cast<int>(threadIdx.x) % 32 << groups_log2)
                           : small_quotient(warp, layout.blocks());
    Walk walk;
    if (stream < layout.streams()) walk.start(arguments, layout, layout.run_of(stream));
    __syncthreads();
    griddepcontrol_wait();
    if (is_producer) {
        if constexpr (moves_registers) setmaxnreg_dec<producer_registers>();
        produce(arguments, parameter.input_map, layout, walk, shared_base, warp - warps);
    } else {
        if constexpr (moves_registers) setmaxnreg_inc<consumer_registers>();
        consume(arguments, layout, reinterpret_cast<Station*>(shared + stations_offset)[warp], shared, walk, warp);
    }
}
