// SPDX-License-Identifier: Apache-2.0
#include "driver/errors.hpp"

#include "driver/driver.hpp"
#include "support/catch.hpp"

using namespace kiln;
using namespace kiln::driver;

namespace {

Failure failure_of(CUresult result) {
    return fail_call(open_library().value()->cuda, result, "doing something").value();
}

}  // namespace

TEST_CASE("a refused call tells what was tried, CUDA's name and text, and its number") {
    const Failure failure = failure_of(CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(failure.message == "doing something: CUDA_ERROR_OUT_OF_MEMORY (out of memory, 2)");
    CHECK(failure.native_code == 2);
}

TEST_CASE("an error that the driver has no name for is still told") {
    const Failure failure = failure_of(static_cast<CUresult>(998));
    CHECK(failure.code == ErrorCode::driver_failure);
    CHECK(failure.native_code == 998);
    CHECK(failure.message.find("998") != std::string::npos);
}

TEST_CASE("a CUDA error's kind becomes the code") {
    CHECK(failure_of(CUDA_ERROR_OUT_OF_MEMORY).code == ErrorCode::out_of_memory);
    CHECK(failure_of(CUDA_ERROR_NO_DEVICE).code == ErrorCode::no_device);
    CHECK(failure_of(CUDA_ERROR_INVALID_DEVICE).code == ErrorCode::no_device);
    CHECK(failure_of(CUDA_ERROR_STUB_LIBRARY).code == ErrorCode::no_driver);
    CHECK(failure_of(CUDA_ERROR_LAUNCH_FAILED).code == ErrorCode::driver_failure);
}

TEST_CASE("a refused image is told from other trouble") {
    for (const auto refused : {CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                               CUDA_ERROR_INVALID_PTX, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_INVALID_SOURCE}) {
        INFO(refused);
        CHECK(is_refused_image(failure_of(refused)));
    }
    for (const auto other : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NO_DEVICE, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_DEINITIALIZED,
                             CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE}) {
        INFO(other);
        CHECK_FALSE(is_refused_image(failure_of(other)));
    }
    CHECK_FALSE(is_refused_image(Failure{ErrorCode::compile_failed, "", CUDA_ERROR_INVALID_IMAGE}));
}
