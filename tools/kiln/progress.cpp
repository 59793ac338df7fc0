// SPDX-License-Identifier: Apache-2.0
#include "kiln/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <kiln/log.hpp>

#include "kiln/output.hpp"

namespace kiln::tools {
namespace {

std::size_t terminal_columns() {
    winsize size{};
    constexpr std::size_t usual = 80;
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

void erase_line() {
    fmt::print(stderr, "\r\x1b[K");
}

}  // namespace

std::string progress_line(std::size_t done, std::size_t total, const std::string& what, std::size_t columns) {
    constexpr std::size_t cells = 20;
    const std::size_t full = total == 0 ? cells : cells * done / total;
    const std::string counts = fmt::format("{:>{}}/{}", done, std::to_string(total).size(), total);
    const std::size_t taken = cells + 2 + 2 + counts.size() + 2 + 1;
    if (columns <= taken) return counts.substr(0, columns);
    std::string bar;
    for (std::size_t cell = 0; cell < cells; ++cell) bar += cell < full ? "█" : "░";
    return fmt::format("[{}]  {}  {}", bar, counts, what.substr(0, columns - taken));
}

ProgressBar::ProgressBar() : active_(is_error_terminal()) {
    if (!active_) return;
    set_log_sink([this](LogLevel, std::string_view message) {
        const std::lock_guard lock(mutex_);
        erase_line();
        fmt::print(stderr, "kiln: {}\n{}", message, line_);
    });
}

ProgressBar::~ProgressBar() {
    if (!active_) return;
    set_log_sink({});
    erase_line();
}

void ProgressBar::show(std::size_t done, std::size_t total, const std::string& what) {
    if (!active_) return;
    const std::lock_guard lock(mutex_);
    line_ = progress_line(done, total, what, terminal_columns());
    erase_line();
    fmt::print(stderr, "{}", line_);
    (void)std::fflush(stderr);
}

}  // namespace kiln::tools
