// SPDX-License-Identifier: Apache-2.0
#include "support/log.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "support/catch.hpp"

using namespace kiln;

namespace {

/// Collects what is logged while it lives.
class Capture {
public:
    explicit Capture(LogLevel level) {
        set_log_level(level);
        set_log_sink([this](LogLevel each, std::string_view message) { messages.emplace_back(each, message); });
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    ~Capture() {
        set_log_sink({});
        set_log_level(LogLevel::warning);
    }

    std::vector<std::pair<LogLevel, std::string>> messages;
};

/// What a child process that calls `body` writes to standard error.
template <typename Body>
std::string stderr_of_child(Body body) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char buffer[256];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    return text;
}

}  // namespace

// First, because it needs a process that has not logged yet. CTest runs each case in a process of its own; a run of the whole
// binary keeps the order of this file.
TEST_CASE("an ill KILN_LOG is one warning, and a good one sets the level") {
    const std::string ill = stderr_of_child([] {
        setenv("KILN_LOG", "loud", 1);
        log::info("not seen");
        log::warning("first");
        log::warning("second");
    });
    CHECK(ill ==
          "kiln: warning: KILN_LOG is 'loud'; it can be trace, debug, info, warning, error or off, and counts as warning\n"
          "kiln: warning: first\nkiln: warning: second\n");
    CHECK(stderr_of_child([] {
              setenv("KILN_LOG", "debug", 1);
              log::debug("value {}", 1);
              log::trace("not seen");
          }) == "kiln: debug: value 1\n");
    CHECK(stderr_of_child([] {
              setenv("KILN_LOG", "off", 1);
              log::error("not seen");
          }).empty());
    CHECK(stderr_of_child([] {
              setenv("KILN_LOG", "off", 1);
              set_log_level(LogLevel::error);
              log::error("code wins over the environment");
          }) == "kiln: error: code wins over the environment\n");
}

TEST_CASE("messages reach the sink with their level, and only those of the level") {
    Capture capture(LogLevel::info);
    log::trace("no");
    log::debug("no");
    log::info("compiling {} for {}", "simt", 90);
    log::warning("w");
    log::error("e");
    const std::vector<std::pair<LogLevel, std::string>> expected{
        {LogLevel::info, "compiling simt for 90"}, {LogLevel::warning, "w"}, {LogLevel::error, "e"}};
    CHECK(capture.messages == expected);
    set_log_level(LogLevel::off);
    log::error("no");
    CHECK(capture.messages.size() == 3);
}

TEST_CASE("the logger is unknown to spdlog's registry") {
    log::info("made");
    CHECK(spdlog::get("kiln") == nullptr);
}

TEST_CASE("the sink is called from one thread at a time") {
    std::atomic<int> inside{0};
    std::atomic<bool> overlapped{false};
    int calls = 0;
    set_log_level(LogLevel::info);
    set_log_sink([&](LogLevel, std::string_view) {
        if (inside.fetch_add(1) != 0) overlapped = true;
        ++calls;
        inside.fetch_sub(1);
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            for (int i = 0; i < 500; ++i) log::info("{}", i);
        });
    }
    for (auto& thread : threads) thread.join();
    set_log_sink({});
    set_log_level(LogLevel::warning);
    CHECK(calls == 2000);
    CHECK_FALSE(overlapped);
}

TEST_CASE("a child that was forked while another thread was logging can log") {
    std::atomic<bool> is_inside{false};
    std::atomic<bool> may_leave{false};
    const pid_t parent = getpid();
    set_log_sink([&](LogLevel, std::string_view) {
        if (getpid() != parent) return;
        is_inside = true;
        while (!may_leave) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    std::thread logging([] { log::warning("holds the lock"); });
    while (!is_inside) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::string text = stderr_of_child([] {
        alarm(5);
        log::warning("through the inherited sink");
        set_log_sink({});
        log::warning("from the child");
    });
    may_leave = true;
    logging.join();
    set_log_sink({});
    CHECK(text == "kiln: warning: from the child\n");
}
