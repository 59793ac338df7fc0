// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include <kiln/export.hpp>

namespace kiln {

/// How much Kiln says: `KILN_LOG`. The default is `warning`.
enum class LogLevel { trace, debug, info, warning, error, off };

/// Sets the level for this process; wins over `KILN_LOG`. Thread safe.
KILN_API void set_log_level(LogLevel level);

/// Receives one message, without a line end. Called from any thread, one at a time; must not throw.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

/// Replaces the sink, which is standard error at first; an empty one restores that. Thread safe.
KILN_API void set_log_sink(LogSink sink);

}  // namespace kiln
