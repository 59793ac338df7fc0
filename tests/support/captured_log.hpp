// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <kiln/log.hpp>

namespace kiln::test {

/// Takes what Kiln says, of this level and above, for as long as it lives.
class CapturedLog {
public:
    explicit CapturedLog(LogLevel level = LogLevel::warning) {
        set_log_level(level);
        set_log_sink([messages = messages_](LogLevel, std::string_view message) {
            const std::lock_guard lock(messages->mutex);
            messages->all.emplace_back(message);
        });
    }
    CapturedLog(const CapturedLog&) = delete;
    CapturedLog& operator=(const CapturedLog&) = delete;
    ~CapturedLog() {
        set_log_sink({});
        set_log_level(LogLevel::warning);
    }

    /// How many messages contain this.
    [[nodiscard]] std::size_t count(const std::string& part) const {
        const std::lock_guard lock(messages_->mutex);
        return static_cast<std::size_t>(std::ranges::count_if(
            messages_->all, [&](const std::string& message) { return message.find(part) != std::string::npos; }));
    }

private:
    struct Messages {
        std::mutex mutex;
        std::vector<std::string> all;
    };
    std::shared_ptr<Messages> messages_ = std::make_shared<Messages>();
};

}  // namespace kiln::test
