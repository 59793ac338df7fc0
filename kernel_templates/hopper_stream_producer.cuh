// SPDX-License-Identifier: Apache-2.0
#pragma once

// The producers: four warps that fill the rings' slots with input rows, in the order in which the streams need them.
//
// Each warp has streams of its own, or shares one: `parts` warps bring a stream's stages, every `parts`-th channel each. Lane i
// of a warp knows where its i-th stream is; a unit is made known to all lanes, which then bring its stages.
namespace kiln {

struct Producer {
    const float* x;
    Index channel_pitch;  // of x
    int width, height;
    int pitch;
    int channel_bytes;
    int parts_log2;
    int part;
    int lane;
    bool rows_together;

    /// A row in pieces of `bytes` bytes, a thread each, with zeros for what lies outside the image. `from`, `column` and `to` are
    /// of this thread's first piece, `rest` columns from the row's end.
    template <int bytes>
    __device__ __forceinline__ void copy_row(const float* from, unsigned column, unsigned inside_columns, unsigned to,
                                             int rest) const {
        constexpr int step = 8 * bytes;  // columns of a warp's pieces
#pragma unroll 1
        for (; rest > 0; rest -= step) {
            const bool is_inside = column < inside_columns;
            cp_async<bytes>(to, is_inside ? from : x, is_inside);
            column += step;
            from += step;
            to += 4 * step;
        }
    }

    /// A stage: rows from `top` on, columns from `left` on, of this part's channels. By bulk copies, a lane each, one for a
    /// channel's rows or for each of them; or (`piece_bytes` 16, 8 or 4) in pieces, all lanes together. One nest of loops for
    /// both: a second one would take as long to compile as the activations.
    __device__ __forceinline__ void copy(const float* source, int top, int left, int rows, unsigned slot, int piece_bytes) const {
        const bool is_bulk = piece_bytes == 0;
        const int lines = is_bulk && rows_together ? 1 : rows;
        const unsigned line_bytes = 4 * smaller(pitch, width - left) * (rows_together ? rows : 1);
        const int first = lane * (piece_bytes >> 2);
        // Bytes may land before they are expected: the phase still waits for this arrival.
        if (is_bulk && lane == 0)
            mbarrier_arrive_expect_tx(slot, ((stage_channels - part + (1 << parts_log2) - 1) >> parts_log2) * lines * line_bytes);
#pragma unroll 1
        for (int channel = part + ((is_bulk ? lane : 0) << parts_log2); channel < stage_channels;
             channel += (is_bulk ? 32 : 1) << parts_log2) {
            unsigned to = slot + slot_head_bytes + channel * channel_bytes + bank_offset(channel);
            const float* from = source + channel * channel_pitch;
#pragma unroll 1
            for (int line = 0; line < lines; ++line) {
                const bool is_row_inside = static_cast<unsigned>(top + line) < static_cast<unsigned>(height);
                const unsigned inside_columns = is_row_inside ? width : 0;
                if (is_bulk) {
                    cp_async_bulk(to, from, line_bytes, slot);
                } else if (piece_bytes == 4) {
                    copy_row<4>(from + first, left + first, inside_columns, to + 4 * first, pitch - first);
                } else if (piece_bytes == 8) {
                    copy_row<8>(from + first, left + first, inside_columns, to + 4 * first, pitch - first);
                } else {
                    copy_row<16>(from + first, left + first, inside_columns, to + 4 * first, pitch - first);
                }
                to += 4 * pitch;
                from += width;
            }
        }
        if (!is_bulk) cp_async_mbarrier_arrive_noinc(slot);
    }
};

/// A producer warp's whole life.
__device__ __forceinline__ void produce(const ForwardArguments& arguments, const Layout& layout, Walk walk, unsigned shared,
                                        int warp) {
    constexpr unsigned all = 0xffffffffu;
    const int groups_log2 = 2 - layout.parts_log2();
    const int group = warp & ((1 << groups_log2) - 1);
    Producer self;
    self.x = arguments.x;
    self.channel_pitch = static_cast<Index>(arguments.height) * arguments.width;
    self.width = arguments.width;
    self.height = arguments.height;
    self.pitch = layout.pitch();
    self.channel_bytes = layout.channel_bytes();
    self.parts_log2 = layout.parts_log2();
    self.part = warp >> groups_log2;
    self.lane = static_cast<int>(threadIdx.x) % 32;
    self.rows_together = layout.rows_together();
    const int piece_bytes = layout.is_bulk() ? 0 : layout.word_bytes();

    const int own_streams = (layout.streams() - group + (1 << groups_log2) - 1) >> groups_log2;
    unsigned slot = shared + layout.ring_of(group + (self.lane << groups_log2));  // of this lane's stream, like what follows
    const int slot_bytes = layout.slot_bytes();
    const unsigned ring_end = slot + layout.slots() * slot_bytes;
    unsigned parity = 1;  // of the phase that empties the slot for the first time: over before it begins
    while (__any_sync(all, walk.units > 0)) {
        // The unit's first window row, in the first channel, at the slot's first column; may lie outside the image.
        const int top = walk.row * row_step - padding_h;
        const int left = walk.strip * layout.blocks() * (warp_columns * column_step) - padding_w - lead;
        const float* source = arguments.x + ((walk.image * in_channels * arguments.height + top) * arguments.width + left);
        // A pass of all streams before the next of any: warps of several streams multiply together, so a stream that is a pass
        // ahead cannot free its slots before the others have come as far.
#pragma unroll 1
        for (int pass = 0; pass < passes; ++pass) {
#pragma unroll 1
            for (int i = 0; i < own_streams; ++i) {
                if (__shfl_sync(all, walk.units, i) == 0) continue;
                const auto source_bits = __shfl_sync(all, reinterpret_cast<unsigned long long>(source), i);
                const float* const unit_source = reinterpret_cast<const float*>(source_bits);
                const int unit_top = __shfl_sync(all, top, i);
                const int unit_left = __shfl_sync(all, left, i);
                const int first_row = __shfl_sync(all, walk.is_fresh ? 0 : kept_rows, i);
                unsigned unit_slot = __shfl_sync(all, slot, i);
                unsigned unit_parity = __shfl_sync(all, parity, i);
                const unsigned unit_ring_end = __shfl_sync(all, ring_end, i);
                // Stages end where the rows that a unit keeps for the next do, so that a fresh unit has the others' after its
                // own.
#pragma unroll 1
                for (int row = first_row, rows; row < window_h; row += rows) {
                    rows = stages_are_equal ? stage_rows : smaller(stage_rows, (row < kept_rows ? kept_rows : window_h) - row);
                    const float* from = unit_source + (first_channel(pass) * self.channel_pitch + row * self.width);
                    mbarrier_wait_parity_unseen(unit_slot + 8, unit_parity);
                    self.copy(from, unit_top + row, unit_left, rows, unit_slot, piece_bytes);
                    unit_slot += slot_bytes;
                    if (unit_slot == unit_ring_end) {
                        unit_slot -= layout.slots() * slot_bytes;
                        unit_parity ^= 1;
                    }
                }
                if (self.lane == i) {
                    slot = unit_slot;
                    parity = unit_parity;
                }
            }
        }
        if (walk.units > 0) walk.advance(arguments, layout, 1);
    }
}

}  // namespace kiln
