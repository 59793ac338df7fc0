// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kiln {

/// The value of an environment variable; empty where it is not set, and in set-uid programs, whose environment is the caller's
/// and must not say which files they open. Every variable that Kiln reads is read here.
[[nodiscard]] std::string environment(const char* name);

}  // namespace kiln
