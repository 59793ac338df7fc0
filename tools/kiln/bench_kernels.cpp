// SPDX-License-Identifier: Apache-2.0
#include "kiln/bench_kernels.hpp"

#include "jit/compiler.hpp"

namespace kiln::tools {
namespace {

constexpr unsigned read_threads = 512;
constexpr unsigned read_blocks_per_multiprocessor = 4;

/// Each thread keeps eight 16-byte loads in flight, neighbouring threads on neighbouring addresses. The sum is used in a way that
/// the compiler cannot see through and that never happens: it would have to be the one float whose bits are the sentinel's.
constexpr const char* source = R"(
struct ReadArguments { const float4* data; unsigned long long vectors; float* sink; };

extern "C" __global__ void kiln_empty(ReadArguments) {}

extern "C" __global__ void __launch_bounds__(512) kiln_read(const __grid_constant__ ReadArguments arguments) {
    const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long index = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (; index + 7 * stride < arguments.vectors; index += 8 * stride) {
        float4 values[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] = __ldcs(arguments.data + index + i * stride);
#pragma unroll
        for (int i = 0; i < 8; ++i) sum += values[i].x + values[i].y + values[i].z + values[i].w;
    }
    for (; index < arguments.vectors; index += stride) {
        const float4 value = __ldcs(arguments.data + index);
        sum += value.x + value.y + value.z + value.w;
    }
    if (__float_as_uint(sum) == 0x7fabcdefu) *arguments.sink = sum;
}
)";

struct ReadArguments {
    const void* data = nullptr;
    std::uint64_t vectors = 0;
    float* sink = nullptr;
};

}  // namespace

Result<BenchKernels> BenchKernels::build(const driver::Context& context) {
    const auto arch = driver::arch_of(context.device());
    if (!arch) return tl::unexpected(arch.error());
    const auto compiled = jit::compile(*arch, source);
    if (!compiled) return tl::unexpected(compiled.error());
    const auto guard = context.enter();
    if (!guard) return tl::unexpected(guard.error());
    auto library = driver::LoadedLibrary::load(context, compiled->cubin);
    if (!library) return pass_on(library);
    const auto empty = library->kernel("kiln_empty");
    if (!empty) return tl::unexpected(empty.error());
    const auto read = library->kernel("kiln_read");
    if (!read) return tl::unexpected(read.error());
    const auto blocks = static_cast<unsigned>(context.device().multiprocessors) * read_blocks_per_multiprocessor;
    return BenchKernels(std::move(*library), *empty, *read, blocks);
}

Result<void> BenchKernels::launch_empty(CUstream stream) const {
    const ReadArguments arguments;
    return empty_.launch({.blocks = 1, .threads = 32}, stream, &arguments);
}

// NOLINTNEXTLINE(readability-non-const-parameter): the kernel may write there
Result<void> BenchKernels::launch_read(const void* data, std::uint64_t bytes, float* sink, CUstream stream) const {
    const ReadArguments arguments{.data = data, .vectors = bytes / 16, .sink = sink};
    return read_.launch({.blocks = read_blocks_, .threads = read_threads}, stream, &arguments);
}

}  // namespace kiln::tools
