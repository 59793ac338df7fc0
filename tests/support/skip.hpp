// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kiln::test {

/// Ends the process with the status that CTest counts as skipped, after saying why. For a case that needs what this machine
/// lacks. CTest runs each case in a process of its own.
[[noreturn]] void skip(const std::string& why);

}  // namespace kiln::test
