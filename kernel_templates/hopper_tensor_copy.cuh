// SPDX-License-Identifier: Apache-2.0
#pragma once

// Asynchronous copies of boxes of a tensor from global to shared memory (PTX: cp.async.bulk.tensor; sm_90).
namespace kiln {

/// What the host's cuTensorMapEncodeTiled made of a tensor and of a box's size.
struct alignas(64) TensorMap {
    unsigned long long words[16];
};

__device__ __forceinline__ void prefetch_tensormap(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Copies the box whose first element is at (i, j, k, l), with zeros for what lies outside of the tensor. All of the box's bytes
/// count towards the barrier's phase, which must expect them.
__device__ __forceinline__ void cp_async_bulk_tensor_4d(unsigned destination, const TensorMap& map, int i, int j, int k, int l,
                                                        unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::
            "r"(destination),
        "l"(&map), "r"(i), "r"(j), "r"(k), "r"(l), "r"(barrier)
        : "memory");
}

}  // namespace kiln
