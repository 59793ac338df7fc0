// SPDX-License-Identifier: Apache-2.0
#pragma once

// Feeding: units are described, and the rings of pixels and of weights kept full.
namespace kiln {

/// The channel of x behind a place's. Those past the last have weights of zero; they get the last one, which the windows use
/// anyway.
__device__ __forceinline__ int input_channel_of(int four, int channel) {
    return min(4 * four + channel, in_channels - 1);
}

/// Lists a tile's runs, clipped to the image: all lines of a segment where it has the image's full width, else a line each.
/// Returns their number.
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
        for (int i = static_cast<int>(threadIdx.x % 32); i < lines; i += 32) {
            const int first_line = max(i, -y);
            const int past_line = min(layout.strips == 1 ? segment.lines : i + 1, arguments.height - y);
            const bool is_empty = past_line <= first_line || last_column <= first_column;
            runs[count + i] = {
                (static_cast<Index>(segment.image) * in_channels * arguments.height + y + first_line) * arguments.width +
                    first_column,
                segment.pixels_before + first_line * layout.pixel_pitch + first_column - x,
                is_empty ? 0 : (past_line - first_line - 1) * arguments.width + last_column - first_column};
        }
        count += lines;
    }
    return count;
}

/// A warp: fetches the pixels of four channels, `run_count` runs in each.
__device__ __forceinline__ void fetch_four(const ForwardArguments& arguments, const Layout& layout, const Run* runs,
                                           int run_count, int four, float* stage, unsigned full) {
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x % 32); i < run_count * 4; i += 32) {
        const Run run = runs[i / 4];
        const int channel = i % 4;
        const Index at = run.source + input_channel_of(four, channel) * arguments.layout[6];
        const int target = channel * layout.pixel_channel_stride + run.target;
        const int shift = static_cast<int>(address_of(arguments.x + at) - target) & 3;
        if (run.count > 0) fetch_run(arguments.x, arguments.layout[7], at, run.count, stage + target + shift, full);
    }
    mbarrier_arrive(full);
}

/// The feeding warp's life.
__device__ __forceinline__ void feed_pixels(const ForwardArguments& arguments, unsigned char* shared) {
    const Layout layout(arguments);
    const Share share(layout);
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
        unit_turn.advance();
#pragma unroll 1
        for (int four = 0; four < chunks * fours; ++four) {
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
                                              unsigned stages_address, int filter_tile, unsigned done) {
    constexpr unsigned unit_steps = chunks * chunk_steps;
    const char* const source =
        static_cast<const char*>(arguments.weights) + bias_bytes + static_cast<Index>(filter_tile) * unit_steps * step_bytes;
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
