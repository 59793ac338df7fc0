// SPDX-License-Identifier: Apache-2.0
#pragma once

// The producers: four warps that fill the rings' slots with input rows, in the order in which the streams need them.
//
// Each warp has streams of its own, or shares one: `parts` warps bring a stream's stages, every `parts`-th channel each. Lane i
// of a warp knows where its i-th stream is; a unit is made known to all lanes, which then bring its stages.
namespace kiln {

// Rows of a stage that are copied in pieces together: they share branches and predicates. A producer's instruction takes it eight
// or nine cycles beside the consumers', whatever it does, so that few instructions matter more than what they bring.
__host__ __device__ constexpr int largest_divisor(int value, int most) {
    int divisor = smaller(value, most);
    while (value % divisor != 0) --divisor;
    return divisor;
}
constexpr int rows_at_once = stages_are_equal ? largest_divisor(stage_rows, pads ? 2 : 7) : 1;
constexpr int pieces_at_once = larger(1, smaller(4, 8 / rows_at_once));  // of each row, for a branch

struct Producer {
    const TensorMap& map;
    Index channel_pitch;  // of x
    int width, height;
    int pitch;
    int channel_bytes;
    int parts_log2;
    int part;
    int lane;
    bool rows_together;

    /// Rows from `top` on, columns from `left` on, in pieces of `bytes` bytes, a lane each, with zeros for what lies outside the
    /// image. `from` and `to` are of the first row's first column.
    template <int bytes>
    __device__ __forceinline__ void copy_rows(const float* from, int top, int left, unsigned to) const {
        constexpr int columns = bytes / 4;
        constexpr int step = 32 * columns;                                                      // of a warp's pieces
        constexpr int step_pitch = has_panels ? step / panel_columns * panel_pitch : 4 * step;  // in the slot
        const int end = pads ? pitch : smaller(pitch, width - left);
        const int first = lane * columns;
        const float* row_from[rows_at_once];
        unsigned row_to[rows_at_once];
        int inside[rows_at_once];  // columns from the lane's next piece to the row's end
#pragma unroll
        for (int row = 0; row < rows_at_once; ++row) {
            row_from[row] = from + row * width + first;
            row_to[row] = has_panels ? swizzled(to + row * (stage_channels * panel_line_bytes) +
                                                first / panel_columns * panel_pitch + first % panel_columns * 4)
                                     : to + 4 * (row * pitch + first);
            inside[row] = static_cast<unsigned>(top + row) < static_cast<unsigned>(height) ? width - left - first : 0;
        }
        int rest = end - first;
        int outside = -left - first;  // columns from the lane's next piece to the row's begin
#pragma unroll 1
        for (int begin = 0; begin < end; begin += pieces_at_once * step) {
#pragma unroll
            for (int i = 0; i < pieces_at_once; ++i) {
                if (rest > i * step) {
#pragma unroll
                    for (int row = 0; row < rows_at_once; ++row) {
                        const unsigned piece_to = row_to[row] + i * step_pitch;
                        const float* piece_from = row_from[row] + i * step;
                        if constexpr (pads) {
                            const bool is_right_of_begin = (i > 0 && padding_w + lead <= step) || outside <= i * step;
                            cp_async_zfill<bytes>(piece_to, piece_from, is_right_of_begin && inside[row] > i * step);
                        } else {
                            cp_async<bytes>(piece_to, piece_from);
                        }
                    }
                }
            }
            rest -= pieces_at_once * step;
            outside -= pieces_at_once * step;
#pragma unroll
            for (int row = 0; row < rows_at_once; ++row) {
                row_from[row] += pieces_at_once * step;
                row_to[row] += pieces_at_once * step_pitch;
                inside[row] -= pieces_at_once * step;
            }
        }
    }

    /// A stage's panels, a lane each: rows from `top` on, columns from `left` on, channels from `channel` on.
    __device__ __forceinline__ void copy_panels(Index image, int channel, int top, int left, unsigned slot) const {
        const int panels = pitch / panel_columns;
        if (lane == 0) mbarrier_arrive_expect_tx(slot, ((panels - part + (1 << parts_log2) - 1) >> parts_log2) * panel_bytes);
#pragma unroll 1
        for (int panel = part + (lane << parts_log2); panel < panels; panel += 32 << parts_log2) {
            cp_async_bulk_tensor_4d(slot + slot_head_bytes + panel * panel_pitch, map, left + panel * panel_columns, channel, top,
                                    static_cast<int>(image), slot);
        }
    }

    /// A stage: rows from `top` on, columns from `left` on, of this part's channels. By bulk copies, a lane each, one for a
    /// channel's rows or for each of them; or (`piece_bytes` 16, 8 or 4) in pieces, all lanes together.
    __device__ __forceinline__ void copy(const float* source, int top, int left, int rows, unsigned slot, int piece_bytes) const {
        const bool is_bulk = !pads && !has_panels && piece_bytes == 0;  // the host says so, too
        const int lines = is_bulk && rows_together ? 1 : rows;
        const unsigned line_bytes = 4 * smaller(pitch, width - left) * (rows_together ? rows : 1);
        const int lines_at_once = is_bulk ? 1 : rows_at_once;
        // Bytes may land before they are expected: the phase still waits for this arrival.
        if (is_bulk && lane == 0)
            mbarrier_arrive_expect_tx(slot, ((stage_channels - part + (1 << parts_log2) - 1) >> parts_log2) * lines * line_bytes);
#pragma unroll 1
        for (int channel = part + ((is_bulk ? lane : 0) << parts_log2); channel < stage_channels;
             channel += (is_bulk ? 32 : 1) << parts_log2) {
            unsigned to = slot + slot_head_bytes +
                          (has_panels ? channel * panel_line_bytes : channel * channel_bytes + bank_offset(channel));
            const float* from = source + channel * channel_pitch;
#pragma unroll 1
            for (int line = 0; line < lines; line += lines_at_once) {
                if (is_bulk) {
                    cp_async_bulk(to, from, line_bytes, slot);
                } else if (piece_bytes == 4) {
                    copy_rows<4>(from, top + line, left, to);
                } else if (!pads || piece_bytes == 8) {  // where 16 bytes are aligned, bulk copies are, but for padding
                    copy_rows<8>(from, top + line, left, to);
                } else {
                    copy_rows<16>(from, top + line, left, to);
                }
                to += (has_panels ? stage_channels * panel_line_bytes : 4 * pitch) * lines_at_once;
                from += width * lines_at_once;
            }
        }
        if (!is_bulk) cp_async_mbarrier_arrive_noinc(slot);
    }
};

/// A producer warp's whole life.
__device__ __forceinline__ void produce(const ForwardArguments& arguments, const TensorMap& map, const Layout& layout, Walk walk,
                                        unsigned shared, int warp) {
    constexpr unsigned all = 0xffffffffu;
    const int groups_log2 = 2 - layout.parts_log2();
    const int group = warp & ((1 << groups_log2) - 1);
    Producer self{map};
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
                const Index unit_image = has_panels ? __shfl_sync(all, walk.image, i) : 0;
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
                    if (has_panels && piece_bytes == 0) {
                        self.copy_panels(unit_image, first_channel(pass), unit_top + row, unit_left, unit_slot);
                    } else {
                        self.copy(from, unit_top + row, unit_left, rows, unit_slot, piece_bytes);
                    }
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
