// SPDX-License-Identifier: Apache-2.0
#pragma once

// Slots as panels, where a lane's pairs of positions begin at multiples of 16 bytes.
//
// A bulk copy is fast only where its two ends lie alike within 128 bytes, so columns have fixed banks, and lanes that read the
// same column of four channels would meet. A tensor map's copies exchange 16-byte pieces on the way:
//
//   slot:   head | panel 0 | panel 1 | …      panel: 32 columns of all rows and channels, row by row, channel by channel:
//   line:   128 bytes, one channel's columns in one row; piece i lies where piece i ^ (line mod 8) would
//
// Channels are a multiple of four and a panel begins at a multiple of 1,024 bytes, so lane t's channel moves a piece by t in the
// two lower bits of its number; which row and which four channels a line is of may move it by four, known when compiling.
namespace kiln {

constexpr int panel_columns = 32;
constexpr int panel_line_bytes = 128;
constexpr int panel_bytes = stage_rows * stage_channels * panel_line_bytes;  // that a copy brings
constexpr int panel_pitch = round_up(panel_bytes, 1024);

/// Where the byte lies that `address` would have in lines as they are.
__device__ __forceinline__ unsigned swizzled(unsigned address) {
    return address ^ (address >> 3 & 0x70);
}

/// The same for an address that is right but for its line, of which `line` are before it.
__device__ __forceinline__ int at_line(int offset, int line) {
    return (offset ^ (line & 4) << 4) + line * panel_line_bytes;
}

}  // namespace kiln
