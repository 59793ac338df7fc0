// SPDX-License-Identifier: Apache-2.0
#include "support/system_calls.hpp"

#include <unistd.h>

#include <cstdio>

namespace kiln::sys {

int openat(int directory, const char* path, int flags, mode_t mode) noexcept {
    return ::openat(directory, path, flags, mode);
}
int close(int file) noexcept {
    return ::close(file);
}
ssize_t pread(int file, void* to, std::size_t bytes, off_t offset) noexcept {
    return ::pread(file, to, bytes, offset);
}
ssize_t write(int file, const void* from, std::size_t bytes) noexcept {
    return ::write(file, from, bytes);
}
int fstat(int file, struct stat* facts) noexcept {
    return ::fstat(file, facts);
}
int fstatat(int directory, const char* path, struct stat* facts, int flags) noexcept {
    return ::fstatat(directory, path, facts, flags);
}
int fstatvfs(int file, struct statvfs* facts) noexcept {
    return ::fstatvfs(file, facts);
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
    return ::mkdirat(directory, path, mode);
}
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
    return ::renameat(from_directory, from, to_directory, to);
}
int unlinkat(int directory, const char* path, int flags) noexcept {
    return ::unlinkat(directory, path, flags);
}
int futimens(int file, const timespec times[2]) noexcept {
    return ::futimens(file, times);
}
int syncfs(int file) noexcept {
    return ::syncfs(file);
}
int set_lock(int file, const struct flock* lock) noexcept {
    return ::fcntl(file, F_SETLK, lock);
}
DIR* fdopendir(int file) noexcept {
    return ::fdopendir(file);
}
dirent* readdir(DIR* directory) noexcept {
    return ::readdir(directory);
}
int closedir(DIR* directory) noexcept {
    return ::closedir(directory);
}

}  // namespace kiln::sys
