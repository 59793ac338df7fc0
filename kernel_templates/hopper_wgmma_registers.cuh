// SPDX-License-Identifier: Apache-2.0
#pragma once

// A wgmma with A in registers and B in shared memory (the layouts are hopper_wgmma.cuh's), whose accumulators are registers that
// PTX declares and C++ does not see: chain0, chain1, … A product's statement then has seven operands instead of up to 70, which
// spares a kernel a twelfth of its compile time.
namespace kiln {

/// Declares a thread's accumulators: once in a kernel, in front of all uses, and in no loop.
__device__ __forceinline__ void declare_chain() {
    asm volatile(".reg .f32 chain<64>;");
}

// clang-format off
#define CHAIN_8 "chain0, chain1, chain2, chain3"
#define CHAIN_16 CHAIN_8 ", chain4, chain5, chain6, chain7"
#define CHAIN_24 CHAIN_16 ", chain8, chain9, chain10, chain11"
#define CHAIN_32 CHAIN_24 ", chain12, chain13, chain14, chain15"
#define CHAIN_40 CHAIN_32 ", chain16, chain17, chain18, chain19"
#define CHAIN_48 CHAIN_40 ", chain20, chain21, chain22, chain23"
#define CHAIN_56 CHAIN_48 ", chain24, chain25, chain26, chain27"
#define CHAIN_64 CHAIN_56 ", chain28, chain29, chain30, chain31"
#define CHAIN_72 CHAIN_64 ", chain32, chain33, chain34, chain35"
#define CHAIN_80 CHAIN_72 ", chain36, chain37, chain38, chain39"
#define CHAIN_88 CHAIN_80 ", chain40, chain41, chain42, chain43"
#define CHAIN_96 CHAIN_88 ", chain44, chain45, chain46, chain47"
#define CHAIN_104 CHAIN_96 ", chain48, chain49, chain50, chain51"
#define CHAIN_112 CHAIN_104 ", chain52, chain53, chain54, chain55"
#define CHAIN_120 CHAIN_112 ", chain56, chain57, chain58, chain59"
#define CHAIN_128 CHAIN_120 ", chain60, chain61, chain62, chain63"

// The descriptor's lower half and its offset are added here, for each product anew: a compiler that keeps dozens of descriptors
// for the next round has no registers left for A.
#define CHAIN_PRODUCT(N)                                                                                                  \
    asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 lower;\n\t.reg .b64 b;\n\tsetp.ne.b32 p, %6, 0;\n\t"                     \
                 "add.u32 lower, %4, %5;\n\tmov.b64 b, {lower, %7};\n\t"                                                  \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k8.f32.tf32.tf32 {" CHAIN_##N "}, {%0, %1, %2, %3}, b, p, 1, 1;\n\t}" \
                 ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_lower), "r"(b_offset), "r"(static_cast<int>(accumulate)),   \
                   "n"(b_upper))
#define CHAIN_TAKE_FOUR(A, B, C, D)                                                                                       \
    if constexpr (A < count)                                                                                              \
        asm volatile("mov.f32 %0, chain" #A ";\n\tmov.f32 %1, chain" #B ";\n\tmov.f32 %2, chain" #C ";\n\tmov.f32 %3, chain" #D ";" \
                     : "=f"(d[A]), "=f"(d[B]), "=f"(d[C]), "=f"(d[D])::"memory")
// clang-format on

/// chain += A · B, or chain = A · B where not `accumulate`; factors are fp32 bit patterns of which the tensor core reads the
/// upper 19 bits. B's descriptor: `b_upper` and the sum of `b_lower` and `b_offset`.
template <int N, unsigned b_upper>
__device__ __forceinline__ void wgmma_chain_k8_tf32(const unsigned (&a)[4], unsigned b_lower, unsigned b_offset,
                                                    bool accumulate) {
    if constexpr (N == 8) CHAIN_PRODUCT(8);
    if constexpr (N == 16) CHAIN_PRODUCT(16);
    if constexpr (N == 24) CHAIN_PRODUCT(24);
    if constexpr (N == 32) CHAIN_PRODUCT(32);
    if constexpr (N == 40) CHAIN_PRODUCT(40);
    if constexpr (N == 48) CHAIN_PRODUCT(48);
    if constexpr (N == 56) CHAIN_PRODUCT(56);
    if constexpr (N == 64) CHAIN_PRODUCT(64);
    if constexpr (N == 72) CHAIN_PRODUCT(72);
    if constexpr (N == 80) CHAIN_PRODUCT(80);
    if constexpr (N == 88) CHAIN_PRODUCT(88);
    if constexpr (N == 96) CHAIN_PRODUCT(96);
    if constexpr (N == 104) CHAIN_PRODUCT(104);
    if constexpr (N == 112) CHAIN_PRODUCT(112);
    if constexpr (N == 120) CHAIN_PRODUCT(120);
    if constexpr (N == 128) CHAIN_PRODUCT(128);
}

/// d = chain: after the products have been waited for.
template <int count>
__device__ __forceinline__ void take_chain(float (&d)[count]) {
    CHAIN_TAKE_FOUR(0, 1, 2, 3);
    CHAIN_TAKE_FOUR(4, 5, 6, 7);
    CHAIN_TAKE_FOUR(8, 9, 10, 11);
    CHAIN_TAKE_FOUR(12, 13, 14, 15);
    CHAIN_TAKE_FOUR(16, 17, 18, 19);
    CHAIN_TAKE_FOUR(20, 21, 22, 23);
    CHAIN_TAKE_FOUR(24, 25, 26, 27);
    CHAIN_TAKE_FOUR(28, 29, 30, 31);
    CHAIN_TAKE_FOUR(32, 33, 34, 35);
    CHAIN_TAKE_FOUR(36, 37, 38, 39);
    CHAIN_TAKE_FOUR(40, 41, 42, 43);
    CHAIN_TAKE_FOUR(44, 45, 46, 47);
    CHAIN_TAKE_FOUR(48, 49, 50, 51);
    CHAIN_TAKE_FOUR(52, 53, 54, 55);
    CHAIN_TAKE_FOUR(56, 57, 58, 59);
    CHAIN_TAKE_FOUR(60, 61, 62, 63);
}

}  // namespace kiln
