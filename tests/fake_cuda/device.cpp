// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "state.hpp"

using fake_cuda::state;

int fake_cuda::Settings::shared_bytes_per_block() const {
    switch (capability()) {
        case 75: return 64 << 10;
        case 80:
        case 87: return 163 << 10;
        case 90:
        case 100:
        case 103: return 227 << 10;
        default: return 99 << 10;
    }
}

FAKE_CUDA_EXPORT CUresult cuInit(unsigned) {
    FAKE_CUDA_BEGIN(cuInit, nothing);
    auto& all = state();
    if (all.settings.devices == 0) return CUDA_ERROR_NO_DEVICE;
    if (all.initialised_by != 0 && all.initialised_by != getpid()) {
        ++all.counters.calls_after_fork;
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    all.is_initialised = true;
    all.initialised_by = getpid();
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuDriverGetVersion(int* version) {
    FAKE_CUDA_BEGIN(cuDriverGetVersion, nothing);
    *version = state().settings.version;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuGetErrorName(CUresult error, const char** name) {
    switch (error) {
        case CUDA_SUCCESS: *name = "CUDA_SUCCESS"; break;
        case CUDA_ERROR_INVALID_VALUE: *name = "CUDA_ERROR_INVALID_VALUE"; break;
        case CUDA_ERROR_OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
        case CUDA_ERROR_NOT_INITIALIZED: *name = "CUDA_ERROR_NOT_INITIALIZED"; break;
        case CUDA_ERROR_DEINITIALIZED: *name = "CUDA_ERROR_DEINITIALIZED"; break;
        case CUDA_ERROR_NO_DEVICE: *name = "CUDA_ERROR_NO_DEVICE"; break;
        case CUDA_ERROR_INVALID_IMAGE: *name = "CUDA_ERROR_INVALID_IMAGE"; break;
        case CUDA_ERROR_INVALID_CONTEXT: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
        case CUDA_ERROR_NO_BINARY_FOR_GPU: *name = "CUDA_ERROR_NO_BINARY_FOR_GPU"; break;
        case CUDA_ERROR_NOT_FOUND: *name = "CUDA_ERROR_NOT_FOUND"; break;
        case CUDA_ERROR_LAUNCH_FAILED: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
        case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"; break;
        default: *name = nullptr; return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuGetErrorString(CUresult error, const char** text) {
    const char* name = nullptr;
    if (cuGetErrorName(error, &name) != CUDA_SUCCESS) {
        *text = nullptr;
        return CUDA_ERROR_INVALID_VALUE;
    }
    *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "an error of the fake driver";
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuDeviceGetCount(int* count) {
    FAKE_CUDA_BEGIN(cuDeviceGetCount, init);
    *count = state().settings.devices;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    FAKE_CUDA_BEGIN(cuDeviceGet, init);
    if (ordinal < 0 || ordinal >= state().settings.devices) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    FAKE_CUDA_BEGIN(cuDeviceGetName, init);
    std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", device);
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    FAKE_CUDA_BEGIN(cuDeviceGetUuid_v2, init);
    std::memset(uuid->bytes, 0xfa, sizeof uuid->bytes);
    uuid->bytes[15] = static_cast<char>(device);
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
    FAKE_CUDA_BEGIN(cuDeviceTotalMem_v2, init);
    *bytes = std::size_t{16} << 30U;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
    FAKE_CUDA_BEGIN(cuDeviceGetAttribute, init);
    const auto& settings = state().settings;
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = settings.major; break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = settings.minor; break;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = settings.shared_bytes_per_block(); break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = settings.shared_bytes_per_block() + 1024; break;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 50 << 20; break;
        case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: *value = 1; break;
        default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
