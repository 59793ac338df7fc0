// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel.hpp"

#include <array>

#include "driver/errors.hpp"

namespace kiln::driver {

Result<Kernel> Kernel::describe(const Context& context, CUfunction handle) {
    Kernel kernel(context, handle);
    const auto ask = [&](int& value, CUfunction_attribute which) {
        return context.cuda().func_get_attribute(&value, which, handle);
    };
    CUresult result = ask(kernel.attributes_.registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
    if (result == CUDA_SUCCESS) result = ask(kernel.attributes_.local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    if (result == CUDA_SUCCESS) result = ask(kernel.attributes_.static_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    if (result == CUDA_SUCCESS) result = ask(kernel.attributes_.maximum_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (result != CUDA_SUCCESS) return fail_call(context.cuda(), result, "asking about a kernel");
    return kernel;
}

Result<void> Kernel::allow_dynamic_shared_bytes(int bytes) const {
    if (is_forked()) return fail_forked();
    const int limit = device_->shared_bytes_per_block - attributes_.static_shared_bytes;
    if (bytes < 0 || bytes > limit) {
        return fail(ErrorCode::driver_failure,
                    "the kernel wants {} bytes of dynamic shared memory; GPU {} ({}) allows {} per block, of which {} are static",
                    bytes, device_->ordinal, device_->name, device_->shared_bytes_per_block, attributes_.static_shared_bytes);
    }
    const CUresult result = cuda_->func_set_attribute(handle_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
    if (result != CUDA_SUCCESS)
        return fail_call(*cuda_, result, fmt::format("allowing {} bytes of dynamic shared memory", bytes));
    return {};
}

Result<int> Kernel::blocks_per_multiprocessor(int threads, int dynamic_shared_bytes) const {
    if (is_forked()) return fail_forked();
    int blocks = 0;
    const CUresult result = cuda_->occupancy_max_active_blocks_per_multiprocessor(&blocks, handle_, threads,
                                                                                  static_cast<std::size_t>(dynamic_shared_bytes));
    if (result != CUDA_SUCCESS) return fail_call(*cuda_, result, "asking how many blocks run at once");
    return blocks;
}

Result<void> Kernel::launch(const LaunchShape& shape, CUstream stream, const void* parameter) const {
    if (is_forked()) return fail_forked();
    std::array<void*, 1> parameters{const_cast<void*>(parameter)};  // the driver only reads it
    CUresult result = CUDA_SUCCESS;
    const bool may_start_early = shape.may_start_early && device_->has_early_starts;
    if (shape.blocks_per_cluster <= 1 && !may_start_early) {
        result = cuda_->launch_kernel(handle_, shape.blocks, 1, 1, shape.threads, 1, 1, shape.dynamic_shared_bytes, stream,
                                      parameters.data(), nullptr);
    } else {
        std::array<CUlaunchAttribute, 2> attributes{};
        unsigned count = 0;
        if (shape.blocks_per_cluster > 1) {
            CUlaunchAttribute& cluster = attributes[count++];
            cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            cluster.value.clusterDim.x = shape.blocks_per_cluster;
            cluster.value.clusterDim.y = 1;
            cluster.value.clusterDim.z = 1;
        }
        if (may_start_early) {
            CUlaunchAttribute& early = attributes[count++];
            early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            early.value.programmaticStreamSerializationAllowed = 1;
        }
        CUlaunchConfig config{};
        config.gridDimX = shape.blocks;
        config.gridDimY = config.gridDimZ = 1;
        config.blockDimX = shape.threads;
        config.blockDimY = config.blockDimZ = 1;
        config.sharedMemBytes = shape.dynamic_shared_bytes;
        config.hStream = stream;
        config.attrs = attributes.data();
        config.numAttrs = count;
        result = cuda_->launch_kernel_ex(&config, handle_, parameters.data(), nullptr);
    }
    if (result == CUDA_SUCCESS) return {};
    return fail_call(*cuda_, result,
                     fmt::format("launching {} blocks of {} threads on GPU {}", shape.blocks, shape.threads, device_->ordinal));
}

}  // namespace kiln::driver
