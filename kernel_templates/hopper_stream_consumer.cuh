// SPDX-License-Identifier: Apache-2.0
#pragma once

// A consumer warp: its state, and what it does with a unit.
namespace kiln {

/// Read again where it is wanted: registers are dear.
__device__ __forceinline__ int lane_index() {
    int lane;
    asm volatile("mov.u32 %0, %laneid;" : "=r"(lane));
    return lane;
}

/// A consumer warp's way through the ring. Few values, all in registers: the fragments take most of them.
struct Consumer {
    const Layout& layout;
    unsigned char* shared;
    int slot;  // where it is, from the start of shared memory
    int slot_bytes;
    int ring_end;  // of the stream
    unsigned parity = 0;
    int row_bytes;
    // Of the lane's first column in the slot, for each of its channels; or of each of its vectors, in the first line of a panel.
    int lane_offset[has_panels ? pair_vectors : lane_channels];
    unsigned flags;  // as follows

    static constexpr unsigned fresh = 1;      // nothing is kept from a unit above
    static constexpr unsigned has_first = 2;  // the lane's positions lie on the pooled map
    static constexpr unsigned has_second = 4;

    __device__ __forceinline__ void wait() const { mbarrier_wait_parity_unseen(shared_address(shared) + slot, parity); }

    /// `column`: of the slot's, the lane's first.
    __device__ __forceinline__ void start(int column, int t) {
        if constexpr (has_panels) {
#pragma unroll
            for (int i = 0; i < pair_vectors; ++i) {
                // The last position's windows may reach past the row, where another has none: then any column will do.
                const int first = column + 4 * i < layout.pitch() ? column + 4 * i : 0;
                lane_offset[i] = slot_head_bytes + first / panel_columns * panel_pitch +
                                 static_cast<int>(swizzled(t * panel_line_bytes + first % panel_columns * 4));
            }
        } else {
#pragma unroll
            for (int channel = 0; channel < lane_channels; ++channel) {
                // Where channels run out, a lane reads the last one again: its weights there are zero.
                const int index = smaller(4 * channel + t, stage_channels - 1);
                lane_offset[channel] = slot_head_bytes + index * layout.channel_bytes() + bank_offset(index) + 4 * column;
            }
        }
    }

    __device__ __forceinline__ void read(RowSums& sums, int channel, int row_of_stage) const {
        constexpr int count = vector_lead + pair_columns;
        float pixels[round_up(count, vector)];
        const unsigned char* row = nullptr;
        if (!has_panels) row = shared + (slot + lane_offset[channel] + row_of_stage * row_bytes) + 4 * (lead - vector_lead);
#pragma unroll
        for (int i = 0; i < pair_vectors; ++i) {
            if (has_panels) row = shared + at_line(slot + lane_offset[i], row_of_stage * stage_channels + 4 * channel);
            const unsigned char* from = has_panels ? row : row + 4 * vector * i;
            if (i < pair_vectors - 1) {
                read_vector<vector>(from, pixels + vector * i);
            } else {
                read_vector<count - vector*(pair_vectors - 1)>(from, pixels + vector * i);
            }
        }
        sums.make(pixels + vector_lead);
    }

    /// The stage's rows have been read.
    __device__ __forceinline__ void release() {
        __syncwarp();
        if (lane_index() == 0) mbarrier_arrive(shared_address(shared) + slot + 8);
        slot += slot_bytes;
        if (slot == ring_end) {
            slot -= layout.slots() * slot_bytes;
            parity ^= 1;
        }
    }

    /// Sums the boxes of a unit and pass by groups of rows: the middle's, then the right rows. What a fresh unit keeps from above
    /// is read by the instructions that read the right rows, whose sums in the boxes then count for nothing: each copy of a
    /// group's instructions would take longer to compile than the products do.
    __device__ __forceinline__ void sum_groups(Boxes (&boxes)[lane_channels], RowSums (&kept)[lane_channels][most_kept]) {
#pragma unroll
        for (int channel = 0; channel < lane_channels; ++channel) boxes[channel].clear();
#pragma unroll 1
        for (int group = (flags & fresh) != 0 ? -1 : 0; group <= middle_groups; ++group) {
            RowSums sums[lane_channels][most_kept];
#pragma unroll
            for (int row_of_group = 0; row_of_group < kept_rows; ++row_of_group) {
                if (row_of_group % stage_rows == 0) wait();
#pragma unroll
                for (int channel = 0; channel < lane_channels; ++channel)
                    read(sums[channel][row_of_group], channel, row_of_group % stage_rows);
                if (row_of_group % stage_rows == stage_rows - 1) release();
            }
            if (group < 0 || group == middle_groups) {
                RowSums running[lane_channels];
#pragma unroll
                for (int i = 0; i < kept_rows; ++i) {
#pragma unroll
                    for (int channel = 0; channel < lane_channels; ++channel) {
                        boxes[channel].add_right(sums[channel][i], i, running[channel]);
                        kept[channel][i] = sums[channel][i];
                    }
                }
                continue;
            }
#pragma unroll
            for (int channel = 0; channel < lane_channels; ++channel) {
#pragma unroll
                for (int i = 0; i < kept_rows; ++i)
                    boxes[channel].add_middle(sums[channel][i], i == 0 && (middle_groups == 1 || group == 0));
                if (group == middle_groups - 1) boxes[channel].add_left(kept[channel]);
            }
        }
    }

    /// Reads rows [first, last) of the window; `take(row, channel, sums)` gets each.
    template <int first, int last, class Take>
    __device__ __forceinline__ void read_rows(const Take& take) {
#pragma unroll
        for (int row_index = first; row_index < last; ++row_index) {
            const int row_of_stage = (row_index - (row_index < kept_rows ? 0 : kept_rows)) % stage_rows;
            if (row_of_stage == 0) wait();
#pragma unroll
            for (int channel = 0; channel < lane_channels; ++channel) {
                RowSums sums;
                read(sums, channel, row_of_stage);
                take(row_index, channel, sums);
            }
            if (row_of_stage == stage_rows - 1 || row_index == kept_rows - 1 || row_index == window_h - 1) release();
        }
    }

    /// Sums the boxes of a unit and pass. `kept`: rows shared with the unit above, then with the one below.
    __device__ __forceinline__ void sum_boxes(Boxes (&boxes)[lane_channels], RowSums (&kept)[lane_channels][most_kept]) {
        if constexpr (kept_rows > 0) {
            if ((flags & fresh) != 0) {
                read_rows<0, kept_rows>(
                    [&](int row_index, int channel, const RowSums& sums) { kept[channel][row_index] = sums; });
            }
        }
        if constexpr (shares_middle) {
            RowSums left[lane_channels][larger(1, side_rows)];
            RowSums running[lane_channels];
            if constexpr (kept_rows == 0) {
                read_rows<0, side_rows>(
                    [&](int row_index, int channel, const RowSums& sums) { left[channel][row_index] = sums; });
            }
            read_rows<side_rows, pool_h>([&](int row_index, int channel, const RowSums& sums) {
                boxes[channel].add_middle(sums, row_index == side_rows);
            });
#pragma unroll
            for (int channel = 0; channel < lane_channels; ++channel) {
                if constexpr (kept_rows > 0) {
                    boxes[channel].add_left(kept[channel]);
                } else {
                    boxes[channel].add_left(left[channel]);
                }
            }
            read_rows<pool_h, window_h>([&](int row_index, int channel, const RowSums& sums) {
                boxes[channel].add_right(sums, row_index - pool_h, running[channel]);
                if constexpr (kept_rows > 0) kept[channel][row_index - pool_h] = sums;
            });
        } else {
            if constexpr (kept_rows > 0) {
#pragma unroll
                for (int channel = 0; channel < lane_channels; ++channel) {
#pragma unroll
                    for (int row_index = 0; row_index < kept_rows; ++row_index) {
                        boxes[channel].add_row(kept[channel][row_index], row_index);
                    }
#pragma unroll
                    for (int row_index = row_step; row_index < kept_rows; ++row_index) {
                        kept[channel][row_index - row_step] = kept[channel][row_index];
                    }
                }
            }
            read_rows<kept_rows, window_h>([&](int row_index, int channel, const RowSums& sums) {
                boxes[channel].add_row(sums, row_index);
                if (kept_rows > 0 && row_index >= row_step) kept[channel][row_index - row_step] = sums;
            });
        }
    }
};

/// Activation and sum of a lane's logits: two positions' columns 8j and 8j + 1 of those that start at its own, of which the first
/// `real` are filters.
__device__ __forceinline__ float sum_activations(const float* logits, const float* bias, int real, bool has_first,
                                                 bool has_second) {
    float one[filters / 4];
    float other[filters / 4];
#pragma unroll
    for (int i = 0; i < filters / 4; ++i) {
        const int filter = i / 2 * 8 + i % 2;
        one[i] = activate(logits[i / 2 * 4 + i % 2] + bias[filter]);
        other[i] = activate(logits[i / 2 * 4 + i % 2 + 2] + bias[filter]);
        if (out_channels % filters != 0) {  // a padded filter would add sigmoid(0)
            one[i] = filter < real ? one[i] : 0;
            other[i] = filter < real ? other[i] : 0;
        }
    }
    const float sum_of_one = pairwise_sum<filters / 4>(one);
    const float sum_of_other = pairwise_sum<filters / 4>(other);
    return (has_first ? sum_of_one : 0) + (has_second ? sum_of_other : 0);
}

}  // namespace kiln
