// SPDX-License-Identifier: Apache-2.0
#pragma once

// Feeding: units are described, and the rings of pixels and of weights kept full.
namespace kiln {

/// The channel of x behind a place's. Those past the last have weights of zero; they get the last one, which the windows use
/// anyway.
__device__ __forceinline__ int input_channel_of(int four, int channel) {
    return min(4 * four + channel, in_channels - 1);
}

/// Lists a tile's runs in each image, clipped to it: all lines of a segment where it has the image's full width, else a line
/// each. Returns their number.
__device__ __forceinline__ int list_runs(const Segments& segments, Run* runs) {
    const ForwardArguments& arguments = segments.arguments;
    const Layout& layout = segments.layout;
    int count = 0;
#pragma unroll 1
    for (int index = 0; index < segments.count; ++index) {
        const Segment segment = segments[index];
        const int y = segment.y(), x = layout.strips == 1 ? 0 : segment.x();
        const int last_column =
            layout.strips == 1 ? arguments.width : min(x + (layout.strip_width - 1) * Columns::step + window_w, arguments.width);
        const int first_column = max(x, 0);
        const int lines = layout.strips == 1 ? 1 : segment.lines;  // runs
#pragma unroll 1
        for (int run = static_cast<int>(threadIdx.x % 32); run < lines << layout.beside_bits; run += 32) {
            const int i = run >> layout.beside_bits, nth = run & ((1 << layout.beside_bits) - 1);
            const int image = segment.image + nth;
            const int first_line = max(i, -y);
            const int past_line = min(layout.strips == 1 ? segment.lines : i + 1, arguments.height - y);
            const bool is_empty =
                past_line <= first_line || last_column <= first_column || (may_be_beside && image >= arguments.batch);
            runs[count + run] = {
                (static_cast<Index>(image) * in_channels * arguments.height + y + first_line) * arguments.width + first_column,
                segment.pixels_before + first_line * layout.pixel_pitch + first_column - x +
                    (may_be_beside ? nth * layout.pixel_image_stride : 0),
                is_empty ? 0 : (past_line - first_line - 1) * arguments.width + last_column - first_column};
        }
        count += lines << layout.beside_bits;
    }
    return count;
}

/// A warp: fetches the pixels of four channels, `run_count` runs in each.
__device__ __forceinline__ void fetch_four(const ForwardArguments& arguments, const Layout& layout, const Run* runs,
                                           int run_count, int four, float* stage, unsigned full) {
    const bool copies_fours = layout.copies_fours(arguments);
    const int copies = copies_fours ? 1 : 4;
    const int more = copies_fours ? (input_channel_of(four, 3) - input_channel_of(four, 0)) * layout.pixel_channel_stride : 0;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x % 32); i < run_count * copies; i += 32) {
        const Run run = runs[static_cast<unsigned>(i) / copies];
        const int channel = i % copies;
        const Index at = run.source + input_channel_of(four, channel) * arguments.layout[6];
        const int target = channel * layout.pixel_channel_stride + run.target;
        const int shift = static_cast<int>(address_of(arguments.x + at) - target) & 3;
        if (run.count > 0) fetch_run(arguments.x, arguments.layout[7], at, run.count + more, stage + target + shift, full);
    }
    mbarrier_arrive(full);
}

/// The feeding warp's life.
__device__ __forceinline__ void feed_pixels(const ForwardArguments& arguments, unsigned char* shared) {
    const Layout layout(arguments);
    const Share share(arguments, layout);
    const Barriers barriers(shared);
    Run* const runs = reinterpret_cast<Run*>(shared + runs_at);
    Count<pixel_stages> turn;
    Count<unit_places> unit_turn;
#pragma unroll 1
    for (int index = share.first; index < share.units; index += share.step) {
        int run_count;
        {
            const Unit unit(arguments, layout, index);
            __syncwarp();
            run_count = list_runs(Segments(arguments, layout, unit), runs);
            if (threadIdx.x % 32 == 0) reinterpret_cast<Unit*>(shared + units_at)[unit_turn.index()] = unit;
            __syncwarp();
        }
        if (unit_turn.count == 0) {
            barrier_arrive(4, 32 * (builder_warps + 1));
            griddepcontrol_wait();
        }
        unit_turn.advance();
#pragma unroll 1
        for (int four = share.first_chunk * fours; four < (share.first_chunk + share.own_chunks) * fours; ++four) {
            mbarrier_wait_parity(barriers.pixels_empty + 8 * turn.index(), turn.parity() ^ 1);
            fetch_four(arguments, layout, runs, run_count, four,
                       reinterpret_cast<float*>(shared + pixels_at) + turn.index() * pixel_floats,
                       barriers.pixels_full + 8 * turn.index());
            turn.advance();
        }
    }
}

/// A warp: fetches a unit's weights, k-step by k-step; in memory they lie in the order of their use. `done`: how many units
/// before.
__device__ __forceinline__ void fetch_weights(const ForwardArguments& arguments, const Barriers& barriers,
                                              unsigned stages_address, const Share& share, int filter_tile, unsigned done) {
    const unsigned unit_steps = share.own_chunks * chunk_steps;
    const char* const source = static_cast<const char*>(arguments.weights) + bias_bytes +
                               (static_cast<Index>(filter_tile) * chunks + share.first_chunk) * (chunk_steps * step_bytes);
    Count<stages> turn{done * unit_steps};
#pragma unroll 1
    for (unsigned step = 0; step < unit_steps; ++step) {
        const unsigned full = barriers.weights_full + 8 * turn.index();
        mbarrier_wait_parity(barriers.weights_empty + 8 * turn.index(), turn.parity() ^ 1);
        if (threadIdx.x % 32 == 0) {
            mbarrier_arrive_expect_tx(full, step_bytes);
            cp_async_bulk(stages_address + turn.index() * step_bytes, source + step * step_bytes, step_bytes, full);
        }
        __syncwarp();
        turn.advance();
    }
}

}  // namespace kiln
