// SPDX-License-Identifier: Apache-2.0
#include <kiln/error.hpp>

#include <utility>

#include "support/result.hpp"

namespace kiln {

std::string_view to_string(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::invalid_argument: return "invalid_argument";
        case ErrorCode::bad_file: return "bad_file";
        case ErrorCode::no_driver: return "no_driver";
        case ErrorCode::no_device: return "no_device";
        case ErrorCode::no_nvrtc: return "no_nvrtc";
        case ErrorCode::unsupported_arch: return "unsupported_arch";
        case ErrorCode::compile_failed: return "compile_failed";
        case ErrorCode::not_cached: return "not_cached";
        case ErrorCode::out_of_memory: return "out_of_memory";
        case ErrorCode::driver_failure: return "driver_failure";
        case ErrorCode::forked: return "forked";
        case ErrorCode::internal: break;
    }
    return "internal";
}

Error::Error(ErrorCode code, const std::string& message, int native_code, std::string log)
    : std::runtime_error(message), code_(code), native_code_(native_code), log_(std::move(log)) {}

void throw_error(Failure failure) {
    throw Error(failure.code, failure.message, failure.native_code, std::move(failure.log));
}

}  // namespace kiln
