// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string_view>

extern char** environ;

namespace kiln::test {
namespace {

class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() { close(); }
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }
    [[nodiscard]] int get() const { return number_; }

private:
    int number_;
};

struct Pipe {
    Descriptor read, write;
};

Pipe make_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Pipe make_terminal() {
    int master = -1;
    int slave = -1;
    winsize size{};
    size.ws_col = 80;
    size.ws_row = 24;
    if (openpty(&master, &slave, nullptr, nullptr, &size) != 0) throw std::runtime_error("openpty");
    (void)fcntl(master, F_SETFD, FD_CLOEXEC);
    (void)fcntl(slave, F_SETFD, FD_CLOEXEC);
    return {Descriptor(master), Descriptor(slave)};
}

/// Reads both until both end. A terminal whose other side is gone says EIO.
void read_both(const Descriptor& out, std::string& out_text, const Descriptor& err, std::string& err_text) {
    std::array<pollfd, 2> waiting{pollfd{out.get(), POLLIN, 0}, pollfd{err.get(), POLLIN, 0}};
    const std::array<std::string*, 2> texts{&out_text, &err_text};
    while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
        if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) throw std::runtime_error("poll");
        for (std::size_t each = 0; each < waiting.size(); ++each) {
            if (waiting[each].fd < 0 || waiting[each].revents == 0) continue;
            std::array<char, 65536> buffer{};
            const ssize_t count = read(waiting[each].fd, buffer.data(), buffer.size());
            if (count > 0) texts[each]->append(buffer.data(), static_cast<std::size_t>(count));
            if (count <= 0) waiting[each].fd = -1;
        }
    }
}

}  // namespace

Program::Program(const std::string& cache) {
    for (char** each = environ; *each != nullptr; ++each) {
        const std::string_view text = *each;
        const auto equals = text.find('=');
        environment_[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
    for (const char* name : {"KILN_CACHE", "KILN_CACHE_LAYERS", "KILN_CACHE_MAX_SIZE", "KILN_CACHE_TRUST", "KILN_STRICT",
                             "KILN_TOOLCHAIN", "KILN_LOG", "XDG_CACHE_HOME", "NO_COLOR"}) {
        environment_.erase(name);
    }
    environment_["KILN_CACHE_DIR"] = cache;
    environment_["KILN_CUDA_LIBRARY"] = "/nowhere/libcuda.so.1";
    environment_["TERM"] = "xterm";
}

Program& Program::set(const std::string& name, const std::string& value) {
    environment_[name] = value;
    return *this;
}

Program& Program::unset(const std::string& name) {
    environment_.erase(name);
    return *this;
}

Program& Program::with_fake_gpu() {
    return set("KILN_CUDA_LIBRARY", FAKE_CUDA_PATH);
}

Program& Program::output_to(const std::string& file) {
    output_file_ = file;
    return *this;
}

Program& Program::output_to_nobody() {
    output_closed_ = true;
    return *this;
}

Program& Program::error_on_terminal() {
    error_on_terminal_ = true;
    return *this;
}

Program& Program::when_started(std::function<void(pid_t)> call) {
    started_ = std::move(call);
    return *this;
}

ProgramResult Program::run(const std::vector<std::string>& arguments) const {
    Pipe out = make_pipe();
    Pipe err = error_on_terminal_ ? make_terminal() : make_pipe();
    if (output_closed_) out.read.close();
    if (!output_file_.empty()) out.write = Descriptor(open(output_file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.write.get(), STDERR_FILENO);

    std::vector<std::string> words{KILN_PROGRAM_PATH};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> settings;
    for (const auto& [name, value] : environment_) settings.push_back(name + "=" + value);
    const auto pointers = [](std::vector<std::string>& texts) {
        std::vector<char*> result;
        for (std::string& text : texts) result.push_back(text.data());
        result.push_back(nullptr);
        return result;
    };
    pid_t process = 0;
    const int failed =
        posix_spawn(&process, words[0].c_str(), &actions, nullptr, pointers(words).data(), pointers(settings).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("posix_spawn of " + words[0]);
    out.write.close();
    err.write.close();
    if (started_) started_(process);

    ProgramResult result;
    if (output_closed_ || !output_file_.empty()) out.read.close();
    read_both(out.read, result.out, err.read, result.err);
    int status = 0;
    waitpid(process, &status, 0);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

}  // namespace kiln::test
