// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums of neighbours: the box filter of the linear rewrite, one dimension at a time.
namespace kiln {

/// sums[tap] = Σ over d < length of values[tap·dilation + d·stride]: what each tap of the kernel sees of a line. Neighbours on
/// the line are `pitch` elements apart, in `values` and in `sums`, so that columns of a small array in registers can be summed
/// too.
///
/// At most length - 1 roundings on any path. Where taps share whole pixels (stride = dilation), a window that straddles a
/// multiple of `length` is the end of one block plus the start of the next (van Herk's scheme, without differences, so nothing
/// cancels): about three additions a window whatever its length; six altogether for length 4 and three taps.
/// Values that no window uses are not touched, so a NaN among them stays where it is.
template <int length, int taps, int stride, int dilation, int pitch = 1>
__device__ __forceinline__ void window_sums(const float* values, float* sums) {
    if constexpr (stride == dilation) {
        constexpr int step = stride * pitch;
        constexpr int blocks = (taps + length - 2) / length + 1;
#pragma unroll
        for (int block = 0; block < blocks; ++block) {
            const int origin = block * length;
            float end = 0;  // of this block, growing backwards: each is where a window starts
#pragma unroll
            for (int start = origin + length - 1; start >= origin; --start) {
                if (origin >= taps) continue;
                end = start == origin + length - 1 ? values[start * step] : values[start * step] + end;
                if (start < taps) sums[start * pitch] = end;
            }
            float beginning = 0;  // of this block, growing forwards: each finishes a window that started in the block before
#pragma unroll
            for (int count = 1; count < length; ++count) {
                const int tap = origin - length + count;
                if (tap < 0 || tap >= taps) continue;
                const float value = values[(origin + count - 1) * step];
                beginning = count == 1 ? value : beginning + value;
                sums[tap * pitch] += beginning;
            }
        }
    } else {
#pragma unroll
        for (int tap = 0; tap < taps; ++tap) {
            float sum = values[tap * dilation * pitch];
#pragma unroll
            for (int d = 1; d < length; ++d) sum += values[(tap * dilation + d * stride) * pitch];
            sums[tap * pitch] = sum;
        }
    }
}

}  // namespace kiln
