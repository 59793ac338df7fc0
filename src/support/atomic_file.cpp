// SPDX-License-Identifier: Apache-2.0
#include "support/atomic_file.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace kiln {
namespace {

constexpr std::string_view prefix = "tmp.";
constexpr std::size_t digit_count = 16;

/// Different in every process of every machine that may share the directory, also in a forked child.
std::uint64_t unique_number() noexcept {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof number)) return number;
    static std::atomic<std::uint64_t> counter{0};
    const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    return now ^ static_cast<std::uint64_t>(getpid()) << 40 ^ counter++ << 20;
}

}  // namespace

AtomicFile::AtomicFile(int directory, std::string temporary, FileDescriptor file) noexcept
    : directory_(directory), temporary_(std::move(temporary)), file_(std::move(file)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : directory_(other.directory_), temporary_(std::exchange(other.temporary_, {})), file_(std::move(other.file_)) {}

AtomicFile::~AtomicFile() {
    if (!temporary_.empty()) (void)sys::unlinkat(directory_, temporary_.c_str(), 0);
}

Io<AtomicFile> AtomicFile::create(int directory) {
    constexpr int attempts = 8;  // a name that is taken means bad luck once, a fault of the random numbers if it repeats
    for (int attempt = 1;; ++attempt) {
        std::string name = fmt::format("{}{:016x}", prefix, unique_number());
        auto file = open_at(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
        if (file) return AtomicFile(directory, std::move(name), std::move(*file));
        if (!is(file.error(), std::errc::file_exists) || attempt == attempts) return tl::unexpected(file.error());
    }
}

Io<void> AtomicFile::write(ByteView bytes) {
    return write_all(file_.get(), bytes);
}

Io<void> AtomicFile::commit(const std::string& name) {
    // Closed first, and its answer heeded: NFS and quotas report what did not fit only here. An interrupted close has closed.
    if (sys::close(file_.release()) != 0 && errno != EINTR) return last_error();
    if (auto renamed = rename_at(directory_, temporary_, name); !renamed) return renamed;
    temporary_.clear();
    return {};
}

bool AtomicFile::is_temporary_name(std::string_view name) noexcept {
    return name.size() == prefix.size() + digit_count && name.substr(0, prefix.size()) == prefix &&
           name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
}

}  // namespace kiln
