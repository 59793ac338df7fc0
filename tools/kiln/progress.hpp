// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

namespace kiln::tools {

/// A line on standard error that says how far a warm is, drawn over itself; nothing where standard error is no terminal.
/// Log messages are kept above it while it lives. Thread safe.
class ProgressBar {
public:
    ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;
    ~ProgressBar();

    void show(std::size_t done, std::size_t total, const std::string& what);

private:
    const bool active_;
    std::mutex mutex_;
    std::string line_;
};

/// "[██████░░░░]  12/20  what", not wider than `columns`.
[[nodiscard]] std::string progress_line(std::size_t done, std::size_t total, const std::string& what, std::size_t columns);

}  // namespace kiln::tools
