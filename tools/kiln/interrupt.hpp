// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace kiln::tools {

/// Turns the first SIGINT or SIGTERM into a stop request while it lives; the second ends the program as it would have done.
///
/// The signals are blocked in the calling thread, and so in those that it starts meanwhile, and a thread of our own waits for
/// them: nothing runs inside a signal handler. Make it before any thread that should not be interrupted.
class Interrupt {
public:
    Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    ~Interrupt();

    [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
    [[nodiscard]] bool requested() const { return source_.stop_requested(); }

private:
    void wait_for_signals();

    std::stop_source source_;
    std::atomic<bool> ending_ = false;
    sigset_t signals_{};
    sigset_t before_{};
    std::thread thread_;
};

}  // namespace kiln::tools
