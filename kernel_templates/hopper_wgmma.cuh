// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tensor cores' warpgroup instruction (PTX: wgmma, sm_90a) with A in registers and B in shared memory, and what goes with it.
//
// D[64][N] += A[64][k] · B[k][N]; warp w of the warpgroup (4 warps from a multiple of 4) holds rows 16w to 16w + 15.
// With g = lane / 4 and t = lane % 4, rows counted within the warp:
//
//   D  d[4j + 0], d[4j + 1]  row g,      columns 8j + 2t, 8j + 2t + 1
//      d[4j + 2], d[4j + 3]  row g + 8,  the same columns
//   A  tf32, k = 8:          a0: row g, column t       a1: row g + 8, column t       a2, a3: the same rows, column t + 4
//      bf16, k = 16:         a0: row g, columns 2t, 2t + 1 (low half first)   a1: row g + 8   a2, a3: columns 2t + 8, 2t + 9
namespace kiln {

/// Describes B, K-major without swizzle: core matrices of 8 columns (of N) × 16 bytes (of K), each 128 contiguous bytes.
/// `k_step_bytes`: from a core matrix to the next along K; `n_step_bytes`: along N.
__device__ __forceinline__ constexpr unsigned long long wgmma_descriptor(unsigned address, unsigned k_step_bytes,
                                                                         unsigned n_step_bytes) {
    return static_cast<unsigned long long>((address & 0x3ffff) >> 4) | static_cast<unsigned long long>(k_step_bytes >> 4) << 16 |
           static_cast<unsigned long long>(n_step_bytes >> 4) << 32;
}

/// Keeps the compiler from moving uses of accumulators above a wait.
template <int count>
__device__ __forceinline__ void wgmma_settle(float (&d)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// clang-format off
#define WGMMA_PLACES_8 "%0, %1, %2, %3"
#define WGMMA_SUMS_8 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define WGMMA_PLACES_16 WGMMA_PLACES_8 ", %4, %5, %6, %7"
#define WGMMA_SUMS_16 WGMMA_SUMS_8, "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define WGMMA_PLACES_24 WGMMA_PLACES_16 ", %8, %9, %10, %11"
#define WGMMA_SUMS_24 WGMMA_SUMS_16, "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define WGMMA_PLACES_32 WGMMA_PLACES_24 ", %12, %13, %14, %15"
#define WGMMA_SUMS_32 WGMMA_SUMS_24, "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define WGMMA_PLACES_40 WGMMA_PLACES_32 ", %16, %17, %18, %19"
#define WGMMA_SUMS_40 WGMMA_SUMS_32, "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define WGMMA_PLACES_48 WGMMA_PLACES_40 ", %20, %21, %22, %23"
#define WGMMA_SUMS_48 WGMMA_SUMS_40, "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define WGMMA_PLACES_56 WGMMA_PLACES_48 ", %24, %25, %26, %27"
#define WGMMA_SUMS_56 WGMMA_SUMS_48, "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define WGMMA_PLACES_64 WGMMA_PLACES_56 ", %28, %29, %30, %31"
#define WGMMA_SUMS_64 WGMMA_SUMS_56, "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define WGMMA_PLACES_72 WGMMA_PLACES_64 ", %32, %33, %34, %35"
#define WGMMA_SUMS_72 WGMMA_SUMS_64, "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define WGMMA_PLACES_80 WGMMA_PLACES_72 ", %36, %37, %38, %39"
#define WGMMA_SUMS_80 WGMMA_SUMS_72, "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define WGMMA_PLACES_88 WGMMA_PLACES_80 ", %40, %41, %42, %43"
#define WGMMA_SUMS_88 WGMMA_SUMS_80, "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define WGMMA_PLACES_96 WGMMA_PLACES_88 ", %44, %45, %46, %47"
#define WGMMA_SUMS_96 WGMMA_SUMS_88, "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define WGMMA_PLACES_104 WGMMA_PLACES_96 ", %48, %49, %50, %51"
#define WGMMA_SUMS_104 WGMMA_SUMS_96, "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define WGMMA_PLACES_112 WGMMA_PLACES_104 ", %52, %53, %54, %55"
#define WGMMA_SUMS_112 WGMMA_SUMS_104, "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define WGMMA_PLACES_120 WGMMA_PLACES_112 ", %56, %57, %58, %59"
#define WGMMA_SUMS_120 WGMMA_SUMS_112, "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define WGMMA_PLACES_128 WGMMA_PLACES_120 ", %60, %61, %62, %63"
#define WGMMA_SUMS_128 WGMMA_SUMS_120, "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])

#define WGMMA_REGISTERS(N, SHAPE_AND_TYPES, TAIL, A0, A1, A2, A3, B, ACCUMULATE)                                        \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" ACCUMULATE ", 0;\n\t"                                           \
                 "wgmma.mma_async.sync.aligned.m64n" #N SHAPE_AND_TYPES " {" WGMMA_PLACES_##N "}, "                       \
                 "{%" A0 ", %" A1 ", %" A2 ", %" A3 "}, %" B ", p, 1, 1" TAIL ";\n\t}"                                    \
                 : WGMMA_SUMS_##N                                                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)))

#define WGMMA_CASES(SHAPE_AND_TYPES, TAIL)                                                                               \
    if constexpr (N == 8) WGMMA_REGISTERS(8, SHAPE_AND_TYPES, TAIL, "4", "5", "6", "7", "8", "9");                     \
    else if constexpr (N == 16) WGMMA_REGISTERS(16, SHAPE_AND_TYPES, TAIL, "8", "9", "10", "11", "12", "13");          \
    else if constexpr (N == 24) WGMMA_REGISTERS(24, SHAPE_AND_TYPES, TAIL, "12", "13", "14", "15", "16", "17");        \
    else if constexpr (N == 32) WGMMA_REGISTERS(32, SHAPE_AND_TYPES, TAIL, "16", "17", "18", "19", "20", "21");        \
    else if constexpr (N == 40) WGMMA_REGISTERS(40, SHAPE_AND_TYPES, TAIL, "20", "21", "22", "23", "24", "25");        \
    else if constexpr (N == 48) WGMMA_REGISTERS(48, SHAPE_AND_TYPES, TAIL, "24", "25", "26", "27", "28", "29");        \
    else if constexpr (N == 56) WGMMA_REGISTERS(56, SHAPE_AND_TYPES, TAIL, "28", "29", "30", "31", "32", "33");        \
    else if constexpr (N == 64) WGMMA_REGISTERS(64, SHAPE_AND_TYPES, TAIL, "32", "33", "34", "35", "36", "37");        \
    else if constexpr (N == 72) WGMMA_REGISTERS(72, SHAPE_AND_TYPES, TAIL, "36", "37", "38", "39", "40", "41");        \
    else if constexpr (N == 80) WGMMA_REGISTERS(80, SHAPE_AND_TYPES, TAIL, "40", "41", "42", "43", "44", "45");        \
    else if constexpr (N == 88) WGMMA_REGISTERS(88, SHAPE_AND_TYPES, TAIL, "44", "45", "46", "47", "48", "49");        \
    else if constexpr (N == 96) WGMMA_REGISTERS(96, SHAPE_AND_TYPES, TAIL, "48", "49", "50", "51", "52", "53");        \
    else if constexpr (N == 104) WGMMA_REGISTERS(104, SHAPE_AND_TYPES, TAIL, "52", "53", "54", "55", "56", "57");      \
    else if constexpr (N == 112) WGMMA_REGISTERS(112, SHAPE_AND_TYPES, TAIL, "56", "57", "58", "59", "60", "61");      \
    else if constexpr (N == 120) WGMMA_REGISTERS(120, SHAPE_AND_TYPES, TAIL, "60", "61", "62", "63", "64", "65");      \
    else if constexpr (N == 128) WGMMA_REGISTERS(128, SHAPE_AND_TYPES, TAIL, "64", "65", "66", "67", "68", "69");      \
    else static_assert(N < 0, "no such wgmma here")
// clang-format on

/// D += A · B, or D = A · B where not `accumulate`; A and B are fp32 bit patterns of which the tensor core reads the upper 19
/// bits.
template <int N>
__device__ __forceinline__ void wgmma_k8_tf32(float (&d)[N / 2], const unsigned (&a)[4], unsigned long long b, bool accumulate) {
    WGMMA_CASES("k8.f32.tf32.tf32", "");
}

/// The same for pairs of bf16; B is K-major.
template <int N>
__device__ __forceinline__ void wgmma_k16_bf16(float (&d)[N / 2], const unsigned (&a)[4], unsigned long long b, bool accumulate) {
    WGMMA_CASES("k16.f32.bf16.bf16", ", 0");
}

}  // namespace kiln
