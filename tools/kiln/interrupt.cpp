// SPDX-License-Identifier: Apache-2.0
#include "kiln/interrupt.hpp"

#include <pthread.h>
#include <unistd.h>

namespace kiln::tools {

Interrupt::Interrupt() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    thread_ = std::thread([this] { wait_for_signals(); });
}

Interrupt::~Interrupt() {
    ending_ = true;
    // NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread): the thread waits for signals, this one too; it only wakes
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::wait_for_signals() {
    while (true) {
        int signal = 0;
        if (sigwait(&signals_, &signal) != 0 || ending_) return;
        if (source_.stop_requested()) {
            (void)std::signal(signal, SIG_DFL);
            pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
            kill(getpid(), signal);
        }
        source_.request_stop();
    }
}

}  // namespace kiln::tools
