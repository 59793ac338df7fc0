// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "support/files.hpp"

namespace kiln {

/// A POSIX record lock on one byte of a cache directory's `lock` file: exclusive between processes and, unlike the bare system
/// call, between the threads of one.
///
/// Why of this kind: the system releases it when the holder dies, also while a child that the holder forked lives on (locks of
/// flock and OFD locks pass to the child); it works over NFS; and bytes past the end cost nothing, so the file stays empty. The
/// file is never unlinked, or two processes could hold "the" lock on two files. Closing any descriptor of a file gives up all
/// locks that the process has on it, so each process opens the file once, for as long as it holds any byte of it.
class ByteLock {
public:
    /// The lock; nothing while somebody else has it; an error where locks do not work (ENOLCK, a read-only file system, …).
    [[nodiscard]] static Io<std::optional<ByteLock>> try_acquire(int directory, std::uint64_t byte);

    ByteLock(ByteLock&& other) noexcept : file_(std::exchange(other.file_, nullptr)), byte_(other.byte_) {}
    ByteLock& operator=(ByteLock&& other) noexcept {
        std::swap(file_, other.file_);
        std::swap(byte_, other.byte_);
        return *this;
    }
    ~ByteLock();

private:
    struct File;
    struct Registry;
    static Registry& registry();

    ByteLock(File* file, std::uint64_t byte) noexcept : file_(file), byte_(byte) {}
    File* file_;  ///< belongs to the registry of the process; null once moved from
    std::uint64_t byte_;
};

}  // namespace kiln
