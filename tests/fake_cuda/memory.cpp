// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>

#include "state.hpp"

using fake_cuda::state;

namespace {

constexpr std::size_t alignment = 256;

CUresult allocate(CUdeviceptr* address, std::size_t bytes) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    std::memset(memory, 0xa5, bytes);  // a GPU's memory is not zero either
    *address = reinterpret_cast<CUdeviceptr>(memory);
    auto& all = state();
    all.memory[*address] = bytes;
    ++all.counters.allocations;
    all.counters.bytes_in_use += static_cast<long>(bytes);
    return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
    auto& all = state();
    const auto found = all.memory.find(address);
    if (found == all.memory.end()) return CUDA_ERROR_INVALID_VALUE;
    ++all.counters.frees;
    all.counters.bytes_in_use -= static_cast<long>(found->second);
    all.memory.erase(found);
    std::free(reinterpret_cast<void*>(address));
    return CUDA_SUCCESS;
}

CUresult copy(void* to, const void* from, std::size_t bytes, CUdeviceptr device_side) {
    if (!state().is_allocated(device_side, bytes)) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(to, from, bytes);
    ++state().counters.copies;
    return CUDA_SUCCESS;
}

CUresult fill(CUdeviceptr address, unsigned value, std::size_t count, std::size_t width) {
    if (!state().is_allocated(address, count * width)) return CUDA_ERROR_INVALID_VALUE;
    auto* bytes = reinterpret_cast<unsigned char*>(address);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes + i * width, &value, width);
    return CUDA_SUCCESS;
}

void* host(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}

}  // namespace

FAKE_CUDA_EXPORT CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    FAKE_CUDA_BEGIN(cuMemGetInfo_v2, context);
    *total = std::size_t{16} << 30U;
    *free = *total - static_cast<std::size_t>(state().counters.bytes_in_use);
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
    FAKE_CUDA_BEGIN(cuMemAlloc_v2, no_capture);
    return allocate(address, bytes);
}

FAKE_CUDA_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
    FAKE_CUDA_BEGIN(cuMemFree_v2, no_capture);
    return release(address);
}

FAKE_CUDA_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream) {
    FAKE_CUDA_BEGIN(cuMemAllocAsync, context);
    return allocate(address, bytes);
}

FAKE_CUDA_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) {
    FAKE_CUDA_BEGIN(cuMemFreeAsync, context);
    return release(address);
}

FAKE_CUDA_EXPORT CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
    FAKE_CUDA_BEGIN(cuMemHostAlloc, no_capture);
    *memory = std::malloc(bytes);
    return *memory == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuMemFreeHost(void* memory) {
    FAKE_CUDA_BEGIN(cuMemFreeHost, no_capture);
    std::free(memory);
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
    FAKE_CUDA_BEGIN(cuMemcpyHtoD_v2, no_capture);
    state().is_default_stream_busy = true;
    return copy(host(to), from, bytes, to);
}

FAKE_CUDA_EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
    FAKE_CUDA_BEGIN(cuMemcpyDtoH_v2, no_capture);
    state().is_default_stream_busy = false;
    return copy(to, host(from), bytes, from);
}

FAKE_CUDA_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    FAKE_CUDA_BEGIN(cuMemcpyHtoDAsync_v2, context);
    return copy(host(to), from, bytes, to);
}

FAKE_CUDA_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    FAKE_CUDA_BEGIN(cuMemcpyDtoHAsync_v2, context);
    return copy(to, host(from), bytes, from);
}

FAKE_CUDA_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, std::size_t count) {
    FAKE_CUDA_BEGIN(cuMemsetD8_v2, no_capture);
    state().is_default_stream_busy = true;
    return fill(address, value, count, 1);
}

FAKE_CUDA_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned value, std::size_t count) {
    FAKE_CUDA_BEGIN(cuMemsetD32_v2, no_capture);
    state().is_default_stream_busy = true;
    return fill(address, value, count, 4);
}

FAKE_CUDA_EXPORT CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, std::size_t count, CUstream) {
    FAKE_CUDA_BEGIN(cuMemsetD8Async, context);
    return fill(address, value, count, 1);
}

FAKE_CUDA_EXPORT CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, std::size_t count, CUstream) {
    FAKE_CUDA_BEGIN(cuMemsetD32Async, context);
    return fill(address, value, count, 4);
}
