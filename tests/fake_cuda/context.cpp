// SPDX-License-Identifier: Apache-2.0
#include "state.hpp"

using fake_cuda::current_contexts;
using fake_cuda::state;

FAKE_CUDA_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    FAKE_CUDA_BEGIN(cuDevicePrimaryCtxRetain, init);
    auto& all = state();
    if (device < 0 || device >= all.settings.devices) return CUDA_ERROR_INVALID_DEVICE;
    CUctx_st& primary = all.contexts.at(static_cast<std::size_t>(device));
    primary.device = device;
    ++primary.holds;
    ++all.counters.contexts_retained;
    *context = &primary;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    FAKE_CUDA_BEGIN(cuDevicePrimaryCtxRelease_v2, init);
    CUctx_st& primary = state().contexts.at(static_cast<std::size_t>(device));
    if (primary.holds == 0) return CUDA_ERROR_INVALID_CONTEXT;
    --primary.holds;
    ++state().counters.contexts_released;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
    FAKE_CUDA_BEGIN(cuCtxPushCurrent_v2, init);
    if (context == nullptr || context->holds == 0) return CUDA_ERROR_INVALID_CONTEXT;
    current_contexts().push_back(context);
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    FAKE_CUDA_BEGIN(cuCtxPopCurrent_v2, init);
    if (current_contexts().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    *context = current_contexts().back();
    current_contexts().pop_back();
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
    FAKE_CUDA_BEGIN(cuCtxGetCurrent, init);
    *context = current_contexts().empty() ? nullptr : current_contexts().back();
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
    FAKE_CUDA_BEGIN(cuCtxSetCurrent, init);
    auto& contexts = current_contexts();
    if (!contexts.empty()) contexts.pop_back();
    if (context != nullptr) contexts.push_back(context);
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuCtxSynchronize() {
    FAKE_CUDA_BEGIN(cuCtxSynchronize, no_capture);
    ++state().counters.waits;
    state().is_default_stream_busy = false;
    return CUDA_SUCCESS;
}
