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
#pragma unroll
        for (int origin = 0; origin < taps; origin += length) {  // of a block
            // The windows that start in the block: its end, growing backwards.
            float end = values[(origin + length - 1) * step];
            if (origin + length - 1 < taps) sums[(origin + length - 1) * pitch] = end;
#pragma unroll
            for (int start = origin + length - 2; start >= origin; --start) {
                end = values[start * step] + end;
                if (start < taps) sums[start * pitch] = end;
            }
            // All but the first of them go on into the block that follows: its beginning, growing forwards.
            float beginning = 0;
#pragma unroll
            for (int start = origin + 1; start < origin + length && start < taps; ++start) {
                const float value = values[(start + length - 1) * step];
                beginning = start == origin + 1 ? value : beginning + value;
                sums[start * pitch] += beginning;
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
