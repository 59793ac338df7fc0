// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <kiln/error.hpp>

namespace kiln::tools {

/// How the program ends; in `--help`, and what scripts rely on.
enum class ExitStatus {
    done = 0,
    internal_fault = 1,
    wrong_usage = 2,
    bad_input = 3,      ///< a file, a shape, a spec
    machine_lacks = 4,  ///< GPU, driver, NVRTC, arch, memory, room for the cache in `warm`
    compile_failed = 5,
    check_failed = 6,
};

/// The status that belongs to the library's error.
[[nodiscard]] ExitStatus exit_status_of(ErrorCode code) noexcept;

/// Ends a command from anywhere inside it. `code` is what `--json` prints: an ErrorCode's name, or one of the program's own.
class CommandFailure : public std::runtime_error {
public:
    CommandFailure(ExitStatus status, std::string code, const std::string& message)
        : std::runtime_error(message), status_(status), code_(std::move(code)) {}

    [[nodiscard]] ExitStatus status() const noexcept { return status_; }
    [[nodiscard]] const std::string& code() const noexcept { return code_; }

private:
    ExitStatus status_;
    std::string code_;
};

/// The command line does not say what it must.
[[nodiscard]] inline CommandFailure wrong_usage(const std::string& message) {
    return {ExitStatus::wrong_usage, "wrong_usage", message};
}

}  // namespace kiln::tools
