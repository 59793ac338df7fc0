// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <fmt/format.h>
#include <kiln/log.hpp>

/// What Kiln says: `log::info("compiling {} for {}", key, arch);`
///
/// One logger of our own on spdlog, unknown to spdlog's registry, made at the first use. The arguments are formatted only where
/// the level is on. Thread safe, also in a forked child whatever the parent's other threads were doing.
namespace kiln::log {

[[nodiscard]] bool enabled(LogLevel level);
void write(LogLevel level, std::string_view message);

template <typename... Args>
void message(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(level)) write(level, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void trace(fmt::format_string<Args...> format, Args&&... args) {
    message(LogLevel::trace, format, std::forward<Args>(args)...);
}
template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
    message(LogLevel::debug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
    message(LogLevel::info, format, std::forward<Args>(args)...);
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
    message(LogLevel::warning, format, std::forward<Args>(args)...);
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
    message(LogLevel::error, format, std::forward<Args>(args)...);
}

}  // namespace kiln::log
