// SPDX-License-Identifier: Apache-2.0
#include "kernel.hpp"

#include <algorithm>
#include <utility>

using fake_cuda::state;

namespace {

CUresult get(int* value, CUfunction_attribute attribute, const CUfunc_st& kernel) {
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = kernel.info.registers; break;
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = static_cast<int>(kernel.info.local_bytes); break;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(kernel.info.static_shared_bytes); break;
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = std::min(1024, 65536 / std::max(1, kernel.info.registers)); break;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = kernel.allowed_dynamic_shared_bytes; break;
        default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult set(CUfunc_st& kernel, CUfunction_attribute attribute, int value) {
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
    if (value < 0 || value > state().settings.shared_bytes_per_block() - kernel.info.static_shared_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    kernel.allowed_dynamic_shared_bytes = std::max(48 * 1024, value);
    return CUDA_SUCCESS;
}

CUresult launch(const CUfunc_st& kernel, fake_cuda::Launch recorded, CUstream stream, void** parameters) {
    auto& all = state();
    const bool is_empty = recorded.grid[0] == 0 || recorded.block[0] == 0;
    if (is_empty || recorded.block[0] > 1024 || recorded.grid[1] > 65535 || recorded.grid[2] > 65535)
        return CUDA_ERROR_INVALID_VALUE;
    if (recorded.dynamic_shared_bytes > static_cast<unsigned>(kernel.allowed_dynamic_shared_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (stream != nullptr && all.streams.count(stream) == 0) return CUDA_ERROR_INVALID_HANDLE;
    if (kernel.parameter_bytes > 0) {
        const auto* begin = static_cast<const std::byte*>(parameters[0]);
        recorded.parameters.assign(begin, begin + kernel.parameter_bytes);
    }
    recorded.stream = stream;
    if (stream != nullptr && stream->is_capturing) {
        stream->captured.push_back(std::move(recorded));
    } else {
        fake_cuda::execute({std::move(recorded)}, stream);
    }
    return CUDA_SUCCESS;
}

}  // namespace

void fake_cuda::execute(const std::vector<Launch>& launches, CUstream stream) {
    for (Launch each : launches) {
        each.stream = stream;
        if (state().kernel != nullptr) state().kernel(each);
        ++state().counters.launches;
        if (stream != nullptr && state().is_default_stream_busy) ++state().counters.launches_too_early;
        state().launches.push_back(std::move(each));
    }
}

FAKE_CUDA_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
    FAKE_CUDA_BEGIN(cuFuncGetAttribute, context);
    return get(value, attribute, *function);
}

FAKE_CUDA_EXPORT CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    FAKE_CUDA_BEGIN(cuFuncSetAttribute, context);
    return set(*function, attribute, value);
}

FAKE_CUDA_EXPORT CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
    FAKE_CUDA_BEGIN(cuKernelGetAttribute, init);
    return get(value, attribute, *reinterpret_cast<CUfunction>(kernel));
}

FAKE_CUDA_EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice) {
    FAKE_CUDA_BEGIN(cuKernelSetAttribute, init);
    return set(*reinterpret_cast<CUfunction>(kernel), attribute, value);
}

// What a driver checks of a tensor map, and one that can be read: the address, then sizes, then the box.
FAKE_CUDA_EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t rank, void* address,
                                                 const cuuint64_t* sizes, const cuuint64_t* pitches_bytes, const cuuint32_t* box,
                                                 const cuuint32_t* element_pitches, CUtensorMapInterleave, CUtensorMapSwizzle,
                                                 CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    FAKE_CUDA_BEGIN(cuTensorMapEncodeTiled, nothing);
    if (rank != 4 || reinterpret_cast<std::uintptr_t>(address) % 16 != 0 || box[0] > 32) return CUDA_ERROR_INVALID_VALUE;
    *map = {};
    map->opaque[0] = reinterpret_cast<std::uintptr_t>(address);
    for (cuuint32_t i = 0; i < rank; ++i) {
        const bool is_pitch_valid = i == 0 || (pitches_bytes[i - 1] % 16 == 0 && pitches_bytes[i - 1] < 1ULL << 40);
        if (sizes[i] == 0 || sizes[i] > 1ULL << 32 || box[i] == 0 || box[i] > 256 || element_pitches[i] != 1 || !is_pitch_valid)
            return CUDA_ERROR_INVALID_VALUE;
        map->opaque[1 + i] = sizes[i];
        map->opaque[5 + i] = box[i];
    }
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                                      std::size_t dynamic_shared_bytes) {
    FAKE_CUDA_BEGIN(cuOccupancyMaxActiveBlocksPerMultiprocessor, context);
    if (threads < 1 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
    const int by_registers = 65536 / (std::max(1, function->info.registers) * threads);
    const auto shared_bytes =
        static_cast<int>(dynamic_shared_bytes) + static_cast<int>(function->info.static_shared_bytes) + 1024;
    *blocks = std::min({by_registers, 2048 / threads, 32, (state().settings.shared_bytes_per_block() + 1024) / shared_bytes});
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                         unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes, CUstream stream,
                                         void** parameters, void**) {
    FAKE_CUDA_BEGIN(cuLaunchKernel, context);
    return launch(*function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, 1, false, dynamic_shared_bytes, nullptr, {}},
                  stream, parameters);
}

FAKE_CUDA_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void**) {
    FAKE_CUDA_BEGIN(cuLaunchKernelEx, context);
    unsigned blocks_per_cluster = 1;
    bool may_start_early = false;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            if (state().settings.major < 9) return CUDA_ERROR_NOT_SUPPORTED;
            may_start_early = config->attrs[i].value.programmaticStreamSerializationAllowed != 0;
        }
        if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
        if (state().settings.major < 9) return CUDA_ERROR_NOT_SUPPORTED;
        blocks_per_cluster = config->attrs[i].value.clusterDim.x;
    }
    if (blocks_per_cluster == 0 || config->gridDimX % blocks_per_cluster != 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return launch(*function,
                  {{config->gridDimX, config->gridDimY, config->gridDimZ},
                   {config->blockDimX, config->blockDimY, config->blockDimZ},
                   blocks_per_cluster,
                   may_start_early,
                   config->sharedMemBytes,
                   nullptr,
                   {}},
                  config->hStream, parameters);
}
