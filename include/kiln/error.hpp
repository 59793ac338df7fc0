// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <kiln/export.hpp>

namespace kiln {

/// What went wrong, for programs. The message says it for people.
enum class ErrorCode {
    invalid_argument,  ///< a spec, shape, pointer, option or weight that Kiln does not accept
    bad_file,          ///< a file that is damaged, of the wrong kind, or cannot be read or written
    no_driver,         ///< libcuda could not be opened, or is older than CUDA 12.0
    no_device,         ///< the driver is there, the GPU asked for is not
    no_nvrtc,          ///< libnvrtc could not be opened, or is older than 12.0
    unsupported_arch,  ///< an arch that Kiln does not know or this NVRTC cannot build for
    compile_failed,    ///< NVRTC refused the source; `Error::log()` has the whole log
    not_cached,        ///< strict mode, and no layer holds the kernel
    out_of_memory,     ///< of the device or the host
    driver_failure,    ///< any other CUDA error; `Error::native_code()` is the CUresult
    forked,            ///< the driver was initialised before fork(); it cannot be used in the child
    internal,          ///< a fault of Kiln's own
};

/// The code's name as written above: "invalid_argument".
[[nodiscard]] KILN_API std::string_view to_string(ErrorCode code) noexcept;

/// The only exception type that Kiln throws.
class KILN_API Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& message, int native_code = 0, std::string log = {});

    [[nodiscard]] ErrorCode code() const noexcept { return code_; }

    /// The CUresult or nvrtcResult behind the error; 0 where there is none.
    [[nodiscard]] int native_code() const noexcept { return native_code_; }

    /// NVRTC's whole log for `compile_failed`; empty otherwise.
    [[nodiscard]] const std::string& log() const noexcept { return log_; }

private:
    ErrorCode code_;
    int native_code_;
    std::string log_;
};

}  // namespace kiln
