// SPDX-License-Identifier: Apache-2.0
#include "process/worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <utility>

namespace kiln::test {

using Clock = std::chrono::steady_clock;

Worker::Worker(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment)
    : started_(Clock::now()) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    std::vector<std::string> all{KILN_CACHE_WORKER};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    pointers.reserve(all.size() + 1);
    for (std::string& each : all) pointers.push_back(each.data());
    pointers.push_back(nullptr);

    process_ = fork();
    if (process_ < 0) throw std::runtime_error("fork");
    if (process_ == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
        execv(pointers[0], pointers.data());
        _exit(127);
    }
    close(ends[1]);
    output_ = ends[0];
}

Worker::Worker(Worker&& other) noexcept
    : process_(std::exchange(other.process_, -1)), output_(std::exchange(other.output_, -1)), started_(other.started_) {}

Worker::~Worker() {
    if (process_ > 0) {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
    if (output_ >= 0) close(output_);
}

Worker::Outcome Worker::wait() {
    Outcome outcome;
    char buffer[4096];
    while (true) {
        pollfd ready{output_, POLLIN, 0};
        if (poll(&ready, 1, 60'000) != 1) throw std::runtime_error("a worker does not end");
        const ssize_t count = read(output_, buffer, sizeof buffer);
        if (count <= 0) break;
        outcome.output.append(buffer, static_cast<std::size_t>(count));
    }
    int status = 0;
    waitpid(std::exchange(process_, -1), &status, 0);
    outcome.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
}

void Worker::signal(int number) const {
    kill(process_, number);
}

bool Worker::stops_within(std::chrono::milliseconds time) {
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {
        siginfo_t info{};
        if (waitid(P_PID, static_cast<id_t>(process_), &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid != 0) {
            return info.si_code == CLD_STOPPED;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
}

std::size_t compiles_counted(const std::string& file) {
    std::error_code absent;
    const auto size = std::filesystem::file_size(file, absent);
    return absent ? 0 : size;
}

bool compiles_reach(const std::string& file, std::size_t count) {
    for (int i = 0; i < 5000; ++i) {
        if (compiles_counted(file) >= count) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
}

}  // namespace kiln::test
