// SPDX-License-Identifier: Apache-2.0
#include "driver/errors.hpp"

#include "support/log.hpp"

namespace kiln::driver {
namespace {

ErrorCode code_of(CUresult result) {
    switch (result) {
        case CUDA_ERROR_OUT_OF_MEMORY: return ErrorCode::out_of_memory;
        case CUDA_ERROR_NO_DEVICE:
        case CUDA_ERROR_INVALID_DEVICE:
        case CUDA_ERROR_DEVICE_UNAVAILABLE: return ErrorCode::no_device;
        case CUDA_ERROR_STUB_LIBRARY: return ErrorCode::no_driver;
        default: return ErrorCode::driver_failure;
    }
}

}  // namespace

tl::unexpected<Failure> fail_call(const EntryPoints& cuda, CUresult result, std::string_view doing) {
    const char* name = nullptr;
    const char* text = nullptr;
    // These two know no error that is newer than the driver.
    if (cuda.get_error_name(result, &name) != CUDA_SUCCESS || name == nullptr) name = "an error that the driver has no name for";
    if (cuda.get_error_string(result, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
    auto failure = fail(code_of(result), "{}: {} ({}, {})", doing, name, text, static_cast<int>(result));
    failure.value().native_code = static_cast<int>(result);
    return failure;
}

void ignore_result(const EntryPoints& cuda, CUresult result, std::string_view doing) noexcept {
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED) return;
    try {
        log::warning("{}", fail_call(cuda, result, doing).value().message);
    } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for the message
    }
}

bool is_refused_image(const Failure& failure) noexcept {
    if (failure.code != ErrorCode::driver_failure) return false;
    switch (static_cast<CUresult>(failure.native_code)) {
        case CUDA_ERROR_INVALID_IMAGE:
        case CUDA_ERROR_NO_BINARY_FOR_GPU:
        case CUDA_ERROR_INVALID_PTX:
        case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
        case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        case CUDA_ERROR_JIT_COMPILATION_DISABLED:
        case CUDA_ERROR_INVALID_SOURCE:
        case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
        case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
        case CUDA_ERROR_NOT_FOUND: return true;  // the image holds no kernel of that name
        default: return false;
    }
}

}  // namespace kiln::driver
