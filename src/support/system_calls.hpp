// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include <cstddef>

/// The system calls that touch the file system on behalf of the cache, as they are: -1 (or null) and errno on failure, no
/// retries.
///
/// Nothing in src/cache and src/support/files.* calls the system but through here. The functions live in an object of their own,
/// which the fault tests replace by one that counts the calls, fails the n-th, or dies there
/// (tests/support/faulty_system_calls.cpp). So the seam costs nothing and does not exist in what is installed.
namespace kiln::sys {

int openat(int directory, const char* path, int flags, mode_t mode) noexcept;
int close(int file) noexcept;
ssize_t pread(int file, void* to, std::size_t bytes, off_t offset) noexcept;
ssize_t write(int file, const void* from, std::size_t bytes) noexcept;
int fstat(int file, struct stat* facts) noexcept;
int fstatat(int directory, const char* path, struct stat* facts, int flags) noexcept;
int fstatvfs(int file, struct statvfs* facts) noexcept;
int mkdirat(int directory, const char* path, mode_t mode) noexcept;
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept;
int unlinkat(int directory, const char* path, int flags) noexcept;
int futimens(int file, const timespec times[2]) noexcept;
int syncfs(int file) noexcept;
int set_lock(int file, const struct flock* lock) noexcept;  ///< fcntl(F_SETLK)
DIR* fdopendir(int file) noexcept;
dirent* readdir(DIR* directory) noexcept;
int closedir(DIR* directory) noexcept;

}  // namespace kiln::sys
