// SPDX-License-Identifier: Apache-2.0
#include "support/log.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/sink.h>

#include "support/environment.hpp"

namespace kiln {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
    switch (level) {
        case LogLevel::trace: return spdlog::level::trace;
        case LogLevel::debug: return spdlog::level::debug;
        case LogLevel::info: return spdlog::level::info;
        case LogLevel::warning: return spdlog::level::warn;
        case LogLevel::error: return spdlog::level::err;
        case LogLevel::off: break;
    }
    return spdlog::level::off;
}

LogLevel from_spdlog(spdlog::level::level_enum level) {
    switch (level) {
        case spdlog::level::trace: return LogLevel::trace;
        case spdlog::level::debug: return LogLevel::debug;
        case spdlog::level::info: return LogLevel::info;
        case spdlog::level::warn: return LogLevel::warning;
        default: return LogLevel::error;
    }
}

std::optional<LogLevel> parse_level(const std::string& name) {
    if (name == "trace") return LogLevel::trace;
    if (name == "debug") return LogLevel::debug;
    if (name == "info") return LogLevel::info;
    if (name == "warning" || name == "warn") return LogLevel::warning;
    if (name == "error") return LogLevel::error;
    if (name == "off") return LogLevel::off;
    return std::nullopt;
}

/// Standard error, or what the user put in its place.
///
/// A fork may happen while another thread holds the lock, which then stays locked in the child for ever; waiting for it before
/// the fork would deadlock where a user's sink waits for the forking thread. So the child makes the lock anew, and what the lock
/// protects is one pointer to something that is never changed.
class SwitchableSink final : public spdlog::sinks::sink {
public:
    void replace(LogSink sink) {
        auto next = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
        const std::lock_guard lock(mutex_);
        user_sink_.swap(next);
    }

    void log(const spdlog::details::log_msg& message) override {
        const std::lock_guard lock(mutex_);
        if (user_sink_) {
            (*user_sink_)(from_spdlog(message.level), {message.payload.data(), message.payload.size()});
            return;
        }
        spdlog::memory_buf_t line;
        formatter_.format(message, line);
        (void)std::fwrite(line.data(), 1, line.size(), stderr);
    }

    void flush() override {}
    void set_pattern(const std::string&) override {}
    void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

    void renew_lock_after_fork() { new (&mutex_) std::mutex; }

private:
    std::mutex mutex_;
    std::shared_ptr<const LogSink> user_sink_;
    spdlog::pattern_formatter formatter_{"%n: %l: %v"};
};

struct Log {
    std::shared_ptr<SwitchableSink> sink = std::make_shared<SwitchableSink>();
    spdlog::logger logger{"kiln", sink};
    std::string ill_level;  ///< what KILN_LOG said, if that is no level
    std::atomic<bool> warning_is_due{false};

    Log() {
        const std::string value = environment("KILN_LOG");
        const auto level = parse_level(value);
        if (!level && !value.empty()) {
            ill_level = value;
            warning_is_due = true;
        }
        logger.set_level(to_spdlog(level.value_or(LogLevel::warning)));
    }
};

std::atomic<Log*> the_log{nullptr};

/// Never destroyed: destructors of other static objects may still have something to say. Made without a lock, which a fork could
/// leave locked.
Log& instance() {
    Log* log = the_log.load(std::memory_order_acquire);
    if (log != nullptr) return *log;
    auto made = std::make_unique<Log>();
    if (!the_log.compare_exchange_strong(log, made.get(), std::memory_order_acq_rel)) return *log;
    log = made.release();
    pthread_atfork(nullptr, nullptr, [] { the_log.load(std::memory_order_acquire)->sink->renew_lock_after_fork(); });
    return *log;
}

void warn_once_of_ill_level(Log& log) {
    if (!log.warning_is_due.load(std::memory_order_relaxed) || !log.warning_is_due.exchange(false)) return;
    log.logger.warn("KILN_LOG is '{}'; it can be trace, debug, info, warning, error or off, and counts as warning",
                    log.ill_level);
}

}  // namespace

void set_log_level(LogLevel level) {
    instance().logger.set_level(to_spdlog(level));
}

void set_log_sink(LogSink sink) {
    instance().sink->replace(std::move(sink));
}

bool log::enabled(LogLevel level) {
    Log& log = instance();
    warn_once_of_ill_level(log);
    return level != LogLevel::off && log.logger.should_log(to_spdlog(level));
}

void log::write(LogLevel level, std::string_view message) {
    instance().logger.log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace kiln
