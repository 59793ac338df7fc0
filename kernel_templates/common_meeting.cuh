// SPDX-License-Identifier: Apache-2.0
#pragma once

// How blocks that share an image bring their partial sums together: in one launch, without waiting, with the same bits every
// time.
//
//   items (tiles, rows, …) in image-major order     0 1 2 3 4 5 6 7 8 9 …
//   runs: each block takes a contiguous run         [ run 0 ][ run 1 ][ run 2 ] …
//   images                                          [  0  ][    1     ][ 2 ][  3 …
//
// A run contributes one partial sum to each image that it touches. Pairs (image, run) climb a staircase, so `image + run` names
// each of them once, and the pairs of one image are neighbours: that is their slot. Where the filters of an item are divided
// among `splits` blocks too, each slot has `splits` places. The block that arrives last adds the slots of the image in a fixed
// order. An image that only one block touches needs no slot.
//
// counters: one unsigned per image; zero before and after each launch (atomicInc wraps).
// partials: (batch + runs)·splits doubles; written before they are read, so their first content does not matter.
namespace kiln {

using Index = long long;

/// `items` items divided into `runs` contiguous runs whose lengths differ by at most one. Wants 1 <= runs <= items.
struct Runs {
    Index items;
    Index runs;

    __device__ __forceinline__ Index begin(Index run) const { return items * run / runs; }
    /// The run that has this item: the inverse of `begin`.
    __device__ __forceinline__ Index of(Index item) const { return ((item + 1) * runs - 1) / items; }
};

/// Who contributes to an image: runs `first` to `last`, each `splits` times.
struct Contributors {
    Index first;
    Index last;
    Index splits;

    __device__ __forceinline__ Index count() const { return (last - first + 1) * splits; }
};

/// atomicInc that makes this thread's earlier stores visible to whoever arrives later, and theirs to it. Fences before and after
/// it took a quarter of a microsecond more: those also order what nobody here asks about (PTX: atom.inc.acq_rel; sm_70).
__device__ __forceinline__ unsigned atom_inc_acq_rel(unsigned* counter, unsigned last) {
    unsigned before;
    asm volatile("atom.inc.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(last) : "memory");
    return before;
}

/// Adds one block's part of an image and, if it is the last to arrive, writes y[image].
///
/// Called by a whole warp that is divided into groups of `lanes` neighbouring lanes (a power of two, 32: one group); every lane
/// of a group passes the same arguments. A group that is not `active` only takes part in the shuffles.
__device__ __forceinline__ void meet(const ForwardArguments& arguments, Index image, double sum, Contributors contributors,
                                     Index run, Index split, bool active = true, int lanes = 32) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const bool leads = active && (lane & (lanes - 1)) == 0;
    const Index count = contributors.count();
    double* const slots = static_cast<double*>(arguments.partials) + (image + contributors.first) * contributors.splits;

    bool is_last = false;
    if (leads && count > 1) {
        __stcg(slots + (run - contributors.first) * contributors.splits + split, sum);
        const unsigned last_arrival = static_cast<unsigned>(count - 1);
        is_last = atom_inc_acq_rel(static_cast<unsigned*>(arguments.counters) + image, last_arrival) == last_arrival;
    }
    is_last = __shfl_sync(0xffffffffu, static_cast<int>(is_last), lane & ~(lanes - 1)) != 0;
    if (__any_sync(0xffffffffu, is_last)) {
        __syncwarp();  // what the leading lane has seen, the others see
        double total = 0;
        if (is_last) {
            constexpr int together = 4;  // loads in flight
#pragma unroll 1
            for (Index first = lane & (lanes - 1); first < count; first += together * lanes) {
                double parts[together];
#pragma unroll
                for (int i = 0; i < together; ++i) {
                    const Index slot = first + i * lanes;
                    parts[i] = slot < count ? __ldcg(slots + slot) : 0;
                }
#pragma unroll
                for (int i = 0; i < together; ++i) total += parts[i];
            }
        }
        total = lane_group_sum(total, lanes);
        if (is_last) sum = total;
    }
    if (leads && (is_last || count == 1)) arguments.y[image] = static_cast<float>(sum);
}

}  // namespace kiln
