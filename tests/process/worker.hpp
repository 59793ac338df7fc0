// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kiln::test {

/// A running `cache_worker`; killed and reaped when this goes.
class Worker {
public:
    Worker(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment = {});
    Worker(Worker&& other) noexcept;
    Worker& operator=(Worker&&) = delete;
    ~Worker();

    struct Outcome {
        int status = 0;  ///< exit status; 128 + n if signal n ended it
        std::string output;
        double seconds = 0;  ///< since it was started
    };
    /// Waits until it ends; after a minute that is a failure of the test.
    Outcome wait();

    void signal(int number) const;

    /// Whether it stops (SIGSTOP), or ends, within this time.
    [[nodiscard]] bool stops_within(std::chrono::milliseconds time);

private:
    pid_t process_ = -1;
    int output_ = -1;
    std::chrono::steady_clock::time_point started_;
};

/// How many compiles a file counts.
[[nodiscard]] std::size_t compiles_counted(const std::string& file);

/// Waits until a file counts that many; false after ten seconds.
[[nodiscard]] bool compiles_reach(const std::string& file, std::size_t count);

}  // namespace kiln::test
