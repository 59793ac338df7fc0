// SPDX-License-Identifier: Apache-2.0
#include "model/rates.hpp"

#include <array>
#include <stdexcept>

#include <fmt/format.h>

namespace kiln {

namespace {

struct Row {
    int arch_number;
    Rates rates;
};

// Counts and limits from NVIDIA's programming guide, rates from data sheets and clocks as sustained; what was measured says so.
// clang-format off
constexpr std::array<Row, 7> table{{
    //        SMs  GHz    memory  L2     FMA  SFU  TF32  issue  smem  /block       /SM          with L1  warps regs  launch latency
    {75,  {   40, 1.35,    300,   1200,   64,  16,    0,   4,    64,  64 * 1024,  64 * 1024,  96 * 1024, 32, 65536, 0.8, 0.8}},   // T4
    {80,  {  108, 1.30,   1400,   4500,   64,  16,  512,   4,   128, 163 * 1024, 164 * 1024,  192 * 1024, 64, 65536, 0.8, 0.8}},   // A100 40 GB
    {86,  {   82, 1.70,    850,   2500,  128,  16,  128,   4,   128,  99 * 1024, 100 * 1024,  128 * 1024, 48, 65536, 0.8, 0.8}},   // RTX 3090
    {89,  {  128, 2.50,    930,   5000,  128,  16,  128,   4,   128,  99 * 1024, 100 * 1024,  128 * 1024, 48, 65536, 0.8, 0.8}},   // RTX 4090
    {90,  {  132, 1.83,   4450,   6500,  128,  16,  640,   4,   128, 227 * 1024, 228 * 1024,  256 * 1024, 64, 65536, 0.8, 0.9}},   // H200; memory measured; TF32 as mma.sync reaches
    {100, {  148, 1.85,   7000,  10000,  128,  16, 1024,   4,   128, 227 * 1024, 228 * 1024,  256 * 1024, 64, 65536, 0.8, 0.9}},   // B200; TF32 as mma.sync reaches
    {120, {  170, 2.40,   1650,   6000,  128,  16,  128,   4,   128,  99 * 1024, 100 * 1024,  128 * 1024, 48, 65536, 0.8, 0.8}},   // RTX 5090
}};
// clang-format on

}  // namespace

const Rates& rates_of(const Arch& arch) {
    for (const Row& row : table) {
        if (row.arch_number == arch.number()) return row.rates;
    }
    throw std::logic_error(fmt::format("no rates for {}", arch.name()));
}

}  // namespace kiln
