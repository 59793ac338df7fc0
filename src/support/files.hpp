// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <tl/expected.hpp>

#include "support/bytes.hpp"
#include "support/file_descriptor.hpp"

namespace kiln {

/// The outcome of a file operation; the caller decides what an error means to it, and in which words.
template <typename T>
using Io = tl::expected<T, std::error_code>;

/// errno as it stands.
[[nodiscard]] tl::unexpected<std::error_code> last_error() noexcept;

[[nodiscard]] inline bool is(const std::error_code& error, std::errc what) noexcept {
    return error == what;
}

// Each of these is one system call of `sys`, repeated while a signal interrupts it. Paths are relative to a directory's
// descriptor, or to AT_FDCWD. Descriptors are close-on-exec.

[[nodiscard]] Io<FileDescriptor> open_at(int directory, const std::string& path, int flags, mode_t mode = 0);
[[nodiscard]] Io<struct stat> status(int file);
[[nodiscard]] Io<struct stat> status_at(int directory, const std::string& path, int flags = AT_SYMLINK_NOFOLLOW);
[[nodiscard]] Io<bool> is_read_only_mount(int file);
[[nodiscard]] Io<void> make_directory_at(int directory, const std::string& path, mode_t mode);
[[nodiscard]] Io<void> rename_at(int directory, const std::string& from, const std::string& to);
[[nodiscard]] Io<void> remove_at(int directory, const std::string& path);

/// Makes the directory and its parents where they are missing; what exists stays as it is.
[[nodiscard]] Io<void> make_directories(const std::string& path, mode_t mode);

/// Reads until `to` is full or the file ends; returns how many bytes that were.
[[nodiscard]] Io<std::size_t> read_at(int file, std::span<std::byte> to, std::size_t offset);

[[nodiscard]] Io<void> write_all(int file, ByteView bytes);

/// Calls with each name in the directory but "." and "..", in no order. Stops with the error of a failed read.
[[nodiscard]] Io<void> for_each_name(int directory, const std::function<void(const std::string&)>& call);

}  // namespace kiln
