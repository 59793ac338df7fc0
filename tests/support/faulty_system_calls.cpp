// SPDX-License-Identifier: Apache-2.0
#include "support/faulty_system_calls.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "support/system_calls.hpp"

namespace kiln {
namespace test::faults {
namespace {

struct State {
    std::mutex mutex;
    bool armed = false;
    Fault fault;
    int calls = 0;
    std::vector<std::string> names;
};

State& state() {
    static auto* const the_one = new State;
    return *the_one;
}

enum class Verdict { go_on, fail, cut };

/// Decides what becomes of a call; dies or stops here if that is its fate.
Verdict judge(const char* name) noexcept {
    State& now = state();
    const std::unique_lock lock(now.mutex);
    if (!now.armed) return Verdict::go_on;
    const int number = now.calls++;
    now.names.emplace_back(name);
    const Fault& fault = now.fault;
    if (fault.at >= 0 ? number != fault.at : fault.only != name) return Verdict::go_on;
    switch (fault.kind) {
        case Fault::Kind::none: return Verdict::go_on;
        case Fault::Kind::cut: return Verdict::cut;
        case Fault::Kind::kill: raise(SIGKILL); break;
        case Fault::Kind::stop: raise(SIGSTOP); return Verdict::go_on;
        case Fault::Kind::error: break;
    }
    errno = fault.error_number;
    return Verdict::fail;
}

std::size_t cut_if(Verdict verdict, std::size_t bytes) {
    return verdict == Verdict::cut && bytes > 1 ? bytes - 1 : bytes;
}

}  // namespace

void arm(const Fault& fault) {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    now.armed = true;
    now.fault = fault;
    now.calls = 0;
    now.names.clear();
}

int disarm() {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    now.armed = false;
    return now.calls;
}

std::vector<std::string> names_of_calls() {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    return now.names;
}

void arm_from_environment() {
    const char* text = std::getenv("KILN_TEST_FAULT");
    if (text == nullptr) return;
    Fault fault;
    char name[32] = {};
    if (std::sscanf(text, "every:%31[a-z_]:%d", name, &fault.error_number) == 2) {
        fault.kind = Fault::Kind::error;
        fault.only = name;
    } else if (std::sscanf(text, "error:%d:%d", &fault.at, &fault.error_number) == 2) {
        fault.kind = Fault::Kind::error;
    } else if (std::sscanf(text, "kill:%d", &fault.at) == 1) {
        fault.kind = Fault::Kind::kill;
    } else if (std::sscanf(text, "stop:%d", &fault.at) == 1) {
        fault.kind = Fault::Kind::stop;
    } else {
        std::fprintf(stderr, "KILN_TEST_FAULT is '%s'\n", text);
        std::abort();
    }
    arm(fault);
}

}  // namespace test::faults

namespace sys {

using test::faults::cut_if;
using test::faults::judge;
using test::faults::Verdict;

int openat(int directory, const char* path, int flags, mode_t mode) noexcept {
    return judge("openat") == Verdict::fail ? -1 : ::openat(directory, path, flags, mode);
}
/// Closes in any case: that is what the system does too.
int close(int file) noexcept {
    const Verdict verdict = judge("close");
    const int error = errno;
    const int result = ::close(file);
    if (verdict != Verdict::fail) return result;
    errno = error;
    return -1;
}
ssize_t pread(int file, void* to, std::size_t bytes, off_t offset) noexcept {
    const Verdict verdict = judge("pread");
    return verdict == Verdict::fail ? -1 : ::pread(file, to, cut_if(verdict, bytes), offset);
}
ssize_t write(int file, const void* from, std::size_t bytes) noexcept {
    const Verdict verdict = judge("write");
    return verdict == Verdict::fail ? -1 : ::write(file, from, cut_if(verdict, bytes));
}
int fstat(int file, struct stat* facts) noexcept {
    return judge("fstat") == Verdict::fail ? -1 : ::fstat(file, facts);
}
int fstatat(int directory, const char* path, struct stat* facts, int flags) noexcept {
    return judge("fstatat") == Verdict::fail ? -1 : ::fstatat(directory, path, facts, flags);
}
int fstatvfs(int file, struct statvfs* facts) noexcept {
    return judge("fstatvfs") == Verdict::fail ? -1 : ::fstatvfs(file, facts);
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
    return judge("mkdirat") == Verdict::fail ? -1 : ::mkdirat(directory, path, mode);
}
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
    return judge("renameat") == Verdict::fail ? -1 : ::renameat(from_directory, from, to_directory, to);
}
int unlinkat(int directory, const char* path, int flags) noexcept {
    return judge("unlinkat") == Verdict::fail ? -1 : ::unlinkat(directory, path, flags);
}
int futimens(int file, const timespec times[2]) noexcept {
    return judge("futimens") == Verdict::fail ? -1 : ::futimens(file, times);
}
int syncfs(int file) noexcept {
    return judge("syncfs") == Verdict::fail ? -1 : ::syncfs(file);
}
int set_lock(int file, const struct flock* lock) noexcept {
    return judge("set_lock") == Verdict::fail ? -1 : ::fcntl(file, F_SETLK, lock);
}
DIR* fdopendir(int file) noexcept {
    return judge("fdopendir") == Verdict::fail ? nullptr : ::fdopendir(file);
}
dirent* readdir(DIR* directory) noexcept {
    return judge("readdir") == Verdict::fail ? nullptr : ::readdir(directory);
}
int closedir(DIR* directory) noexcept {
    const Verdict verdict = judge("closedir");
    const int result = ::closedir(directory);
    return verdict == Verdict::fail ? -1 : result;
}

}  // namespace sys
}  // namespace kiln
