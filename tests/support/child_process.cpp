// SPDX-License-Identifier: Apache-2.0
#include "support/child_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace kiln::test {

ChildResult run_forked(const std::function<int()>& body) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child == 0) {
        alarm(300);  // a child that hangs; one that only waits for a busy machine may take minutes
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        const int status = body();
        std::fflush(nullptr);
        _exit(status);
    }
    close(ends[1]);
    ChildResult result;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        result.output.append(buffer, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

ChildResult run_case(const std::string& name, const std::map<std::string, std::string>& environment) {
    return run_forked([&] {
        for (const auto& [variable, value] : environment) {
            if (value.empty()) {
                unsetenv(variable.c_str());
            } else {
                setenv(variable.c_str(), value.c_str(), 1);
            }
        }
        execl("/proc/self/exe", "/proc/self/exe", name.c_str(), static_cast<char*>(nullptr));
        return 127;
    });
}

}  // namespace kiln::test
