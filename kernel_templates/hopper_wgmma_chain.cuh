// SPDX-License-Identifier: Apache-2.0
#pragma once

// A wgmma's accumulators as registers that PTX declares and C++ does not see: chain0, chain1, … A product's statement then has
// three operands instead of up to 100, which spares a kernel compile time. Both factors are in shared memory.
//
// chain[64][N] += A[64][k] · B[k][N], 32 bytes of k; warp w of the warpgroup holds rows 16w to 16w + 15. With g = lane / 4 and t
// = lane % 4, chain(4j), chain(4j + 1) are row g, columns 8j + 2t and 8j + 2t + 1; chain(4j + 2), chain(4j + 3) row g + 8, the
// same columns.
namespace kiln {

/// Declares a thread's accumulators: once in a kernel, in front of all uses, and where no loop is unrolled.
template <int count>
__device__ __forceinline__ void declare_chain() {
    asm volatile(".reg .f32 chain<%0>;" ::"n"(count));
}

// clang-format off
#define CHAIN_32 "chain0, chain1, chain2, chain3, chain4, chain5, chain6, chain7, chain8, chain9, chain10, chain11, chain12, chain13, chain14, chain15"
#define CHAIN_64 CHAIN_32 ", chain16, chain17, chain18, chain19, chain20, chain21, chain22, chain23, chain24, chain25, chain26, chain27, chain28, chain29, chain30, chain31"
#define CHAIN_96 CHAIN_64 ", chain32, chain33, chain34, chain35, chain36, chain37, chain38, chain39, chain40, chain41, chain42, chain43, chain44, chain45, chain46, chain47"
#define CHAIN_128 CHAIN_96 ", chain48, chain49, chain50, chain51, chain52, chain53, chain54, chain55, chain56, chain57, chain58, chain59, chain60, chain61, chain62, chain63"
#define CHAIN_160 CHAIN_128 ", chain64, chain65, chain66, chain67, chain68, chain69, chain70, chain71, chain72, chain73, chain74, chain75, chain76, chain77, chain78, chain79"
#define CHAIN_192 CHAIN_160 ", chain80, chain81, chain82, chain83, chain84, chain85, chain86, chain87, chain88, chain89, chain90, chain91, chain92, chain93, chain94, chain95"

#define CHAIN_PRODUCT(N, TYPES, TAIL)                                                                                 \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t"                                                     \
                 "wgmma.mma_async.sync.aligned.m64n" #N TYPES " {" CHAIN_##N "}, %0, %1, p, 1, 1" TAIL ";\n\t}"             \
                 ::"l"(a), "l"(b), "r"(static_cast<int>(accumulate)))

#define CHAIN_PRODUCT_OF_N(TYPES, TAIL)                                                                               \
    if constexpr (N == 32) CHAIN_PRODUCT(32, TYPES, TAIL);                                                            \
    if constexpr (N == 64) CHAIN_PRODUCT(64, TYPES, TAIL);                                                            \
    if constexpr (N == 96) CHAIN_PRODUCT(96, TYPES, TAIL);                                                            \
    if constexpr (N == 128) CHAIN_PRODUCT(128, TYPES, TAIL);                                                          \
    if constexpr (N == 160) CHAIN_PRODUCT(160, TYPES, TAIL);                                                          \
    if constexpr (N == 192) CHAIN_PRODUCT(192, TYPES, TAIL)

#define CHAIN_ADD_FOUR(A, B, C, D)                                                                                    \
    if constexpr (A < count)                                                                                          \
        asm volatile("add.f32 %0, %0, chain" #A ";\n\tadd.f32 %1, %1, chain" #B ";\n\t"                               \
                     "add.f32 %2, %2, chain" #C ";\n\tadd.f32 %3, %3, chain" #D ";"                                   \
                     : "+f"(sums[A]), "+f"(sums[B]), "+f"(sums[C]), "+f"(sums[D]))

#define CHAIN_ZERO_FOUR(A, B, C, D)                                                                                   \
    if constexpr (A < count)                                                                                          \
        asm volatile("mov.f32 chain" #A ", 0f00000000;\n\tmov.f32 chain" #B ", 0f00000000;\n\t"                       \
                     "mov.f32 chain" #C ", 0f00000000;\n\tmov.f32 chain" #D ", 0f00000000;")

#define CHAIN_FOURS(DO)                                                                                               \
    DO(0, 1, 2, 3); DO(4, 5, 6, 7); DO(8, 9, 10, 11); DO(12, 13, 14, 15);                                             \
    DO(16, 17, 18, 19); DO(20, 21, 22, 23); DO(24, 25, 26, 27); DO(28, 29, 30, 31);                                   \
    DO(32, 33, 34, 35); DO(36, 37, 38, 39); DO(40, 41, 42, 43); DO(44, 45, 46, 47);                                   \
    DO(48, 49, 50, 51); DO(52, 53, 54, 55); DO(56, 57, 58, 59); DO(60, 61, 62, 63);                                   \
    DO(64, 65, 66, 67); DO(68, 69, 70, 71); DO(72, 73, 74, 75); DO(76, 77, 78, 79);                                   \
    DO(80, 81, 82, 83); DO(84, 85, 86, 87); DO(88, 89, 90, 91); DO(92, 93, 94, 95);
// clang-format on

/// chain += A · B, or chain = A · B where not `accumulate`; factors are fp32 bit patterns of which the tensor core reads the
/// upper 19 bits, given by their descriptors.
template <int N>
__device__ __forceinline__ void wgmma_chain_k8_tf32(unsigned long long a, unsigned long long b, bool accumulate) {
    CHAIN_PRODUCT_OF_N("k8.f32.tf32.tf32", "");
}

/// The same for pairs of bf16: twice as many along k.
template <int N>
__device__ __forceinline__ void wgmma_chain_k16_bf16(unsigned long long a, unsigned long long b, bool accumulate) {
    CHAIN_PRODUCT_OF_N("k16.f32.bf16.bf16", ", 0, 0");
}

/// sums += chain, rounded to nearest: after the chain's products have been waited for.
template <int count>
__device__ __forceinline__ void add_chain(float (&sums)[count]) {
    CHAIN_FOURS(CHAIN_ADD_FOUR)
}

/// chain = 0: what is done between the last products and this has the chain's registers.
template <int count>
__device__ __forceinline__ void zero_chain() {
    CHAIN_FOURS(CHAIN_ZERO_FOUR)
}

}  // namespace kiln
