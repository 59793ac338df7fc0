// SPDX-License-Identifier: Apache-2.0
#include "kiln/exit_status.hpp"

namespace kiln::tools {

ExitStatus exit_status_of(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::invalid_argument:
        case ErrorCode::bad_file: return ExitStatus::bad_input;
        case ErrorCode::no_driver:
        case ErrorCode::no_device:
        case ErrorCode::no_nvrtc:
        case ErrorCode::unsupported_arch:
        case ErrorCode::not_cached:
        case ErrorCode::out_of_memory: return ExitStatus::machine_lacks;
        case ErrorCode::compile_failed: return ExitStatus::compile_failed;
        case ErrorCode::driver_failure:
        case ErrorCode::forked:
        case ErrorCode::internal: break;
    }
    return ExitStatus::internal_fault;
}

}  // namespace kiln::tools
