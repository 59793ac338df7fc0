// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace kiln::test {

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// How the `kiln` program ended and what it said.
struct ProgramResult {
    int status = 0;   ///< exit status; 128 + n if signal n ended it
    std::string out;  ///< standard output
    std::string err;  ///< standard error

    /// The document on standard output; throws, and so fails the test, if it is not one.
    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out); }

    /// A field of it, by value: a loop over `json()["…"]` would outlive the document.
    [[nodiscard]] nlohmann::json field(const std::string& name) const { return json().at(name); }
};

/// Runs the real binary, in an environment without a GPU, with its cache where the test says, and with no setting of the user's.
class Program {
public:
    /// `cache` becomes KILN_CACHE_DIR.
    explicit Program(const std::string& cache);

    /// Sets a variable, or takes it away.
    Program& set(const std::string& name, const std::string& value);
    Program& unset(const std::string& name);

    /// libcuda becomes the fake one: memory works, a launch computes nothing.
    Program& with_fake_gpu();

    /// Standard output goes to this file instead.
    Program& output_to(const std::string& file);

    /// Nobody reads standard output: the other end of the pipe is closed before the program starts.
    Program& output_to_nobody();

    /// Standard error is a terminal, 80 columns wide.
    Program& error_on_terminal();

    /// Called with the process's id as soon as it runs.
    Program& when_started(std::function<void(pid_t)> call);

    [[nodiscard]] ProgramResult run(const std::vector<std::string>& arguments) const;

private:
    std::map<std::string, std::string> environment_;
    std::string output_file_;
    bool output_closed_ = false;
    bool error_on_terminal_ = false;
    std::function<void(pid_t)> started_;
};

}  // namespace kiln::test
