// SPDX-License-Identifier: Apache-2.0
#include "cache/byte_lock.hpp"

#include <cerrno>
#include <list>
#include <mutex>
#include <set>

#include "cache/layout.hpp"
#include "support/process_local.hpp"

namespace kiln {

/// The one descriptor that this process has of a lock file, and what it holds.
struct ByteLock::File {
    dev_t device;
    ino_t inode;
    FileDescriptor file;
    std::set<std::uint64_t> held;
    unsigned generation = fork_generation();  ///< the process that made it
};

struct ByteLock::Registry {
    std::mutex mutex;
    std::list<File> files;  // one per cache directory that is being compiled for; stable addresses

    File* find(const struct stat& facts) {
        for (File& each : files) {
            if (each.device == facts.st_dev && each.inode == facts.st_ino) return &each;
        }
        return nullptr;
    }

    Io<File*> open(int directory) {
        if (const auto facts = status_at(directory, layout::lock_file)) {
            if (File* known = find(*facts)) return known;
        }
        auto file = open_at(directory, layout::lock_file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0644);
        if (!file) return tl::unexpected(file.error());
        const auto facts = status(file->get());
        if (!facts) return tl::unexpected(facts.error());
        if (File* known = find(*facts)) {
            (void)file->release();  // never closed: that would give up the locks held through the other
            return known;
        }
        files.push_back({facts->st_dev, facts->st_ino, std::move(*file), {}});
        return &files.back();
    }

    void close_if_idle(const File* file) {
        if (file->held.empty()) files.remove_if([&](const File& each) { return &each == file; });
    }
};

namespace {

int set_lock(int file, short type, std::uint64_t byte) noexcept {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(byte);
    lock.l_len = 1;
    int result = sys::set_lock(file, &lock);
    while (result < 0 && errno == EINTR) result = sys::set_lock(file, &lock);
    return result;
}

}  // namespace

/// Never destroyed: a lock may be held while static objects go.
ByteLock::Registry& ByteLock::registry() {
    static auto* const all = new ProcessLocal<Registry>([] { return std::make_unique<Registry>(); });
    return all->get();
}

Io<std::optional<ByteLock>> ByteLock::try_acquire(int directory, std::uint64_t byte) {
    Registry& all = registry();
    const std::lock_guard guard(all.mutex);
    const auto file = all.open(directory);
    if (!file) return tl::unexpected(file.error());
    if ((*file)->held.contains(byte)) return std::optional<ByteLock>();
    if (set_lock((*file)->file.get(), F_WRLCK, byte) == 0) {
        (*file)->held.insert(byte);
        return ByteLock(*file, byte);
    }
    const int error = errno;
    all.close_if_idle(*file);
    if (error == EAGAIN || error == EACCES) return std::optional<ByteLock>();
    return tl::unexpected(std::error_code(error, std::generic_category()));
}

ByteLock::~ByteLock() {
    // In a forked child the lock is the parent's, and so is the registry that knows of it.
    if (file_ == nullptr || file_->generation != fork_generation()) return;
    Registry& all = registry();
    const std::lock_guard guard(all.mutex);
    (void)set_lock(file_->file.get(), F_UNLCK, byte_);
    file_->held.erase(byte_);
    all.close_if_idle(file_);
}

}  // namespace kiln
