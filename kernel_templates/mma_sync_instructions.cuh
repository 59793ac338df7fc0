// SPDX-License-Identifier: Apache-2.0
#pragma once

// The instructions that this family is made of, named as PTX names them; sm_80 has all of them.
namespace kiln {

/// Reads 2 or 4 neighbouring floats.
template <int vector>
__device__ __forceinline__ void ld_shared(unsigned from, float* to) {
    static_assert(vector == 2 || vector == 4);
    if constexpr (vector == 4) {
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "r"(from));
    } else {
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(to[0]), "=f"(to[1]) : "r"(from));
    }
}

/// Starts a copy of 16 bytes, both addresses multiples of 16, past L1.
__device__ __forceinline__ void cp_async_cg_16(float* to, const float* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

/// Waits for all copies that this thread has started.
__device__ __forceinline__ void cp_async_wait_all() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/// Waits until `count` threads have come to this barrier of the block; what they wrote before is seen after. 0 is __syncthreads'.
__device__ __forceinline__ void bar_sync(int barrier, int count) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(count) : "memory");
}

/// D = A · B + C for 16 × 8 × 8, by a warp; A and B are fp32 bit patterns of which the tensor core reads the upper 19 bits. With
/// g = lane / 4 and t = lane % 4:
///
///   A  a[0]: row g, k = t       a[1]: row g + 8, k = t       a[2], a[3]: the same rows, k = t + 4
///   B  b0: k = t, column g      b1: k = t + 4, column g
///   C, D  [0], [1]: row g, columns 2t, 2t + 1      [2], [3]: row g + 8, the same columns
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                                                 const float (&c)[4]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

}  // namespace kiln
