// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

namespace kiln::test {

struct ChildResult {
    int status = 0;      ///< exit status; 128 + n if signal n ended it
    std::string output;  ///< standard output and error together
};

/// Runs a hidden case (tag "[.]") of this test binary in a process of its own: for what is decided once per process, such as the
/// environment. A value of "" unsets its variable.
[[nodiscard]] ChildResult run_case(const std::string& name, const std::map<std::string, std::string>& environment = {});

/// Forks, and calls `body` in the child, whose exit status it returns. A child that does not end within a minute is killed.
[[nodiscard]] ChildResult run_forked(const std::function<int()>& body);

}  // namespace kiln::test
