// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "cache/configuration.hpp"
#include "cache/entry_files.hpp"
#include "cache/miss.hpp"
#include "support/files.hpp"

namespace kiln {

/// The user's own directory: `u<effective uid>/` inside the directory that is configured.
///
/// The configured directory may be anyone's and writable by all; nothing in it is believed but this one subdirectory, if it is
/// the user's own. It is opened anew for each use and everything else goes through that descriptor, so a directory that was
/// removed, replaced or mounted over is noticed, and no descriptor is held between uses. Immutable, thread safe.
class OwnDirectory {
public:
    explicit OwnDirectory(const CacheConfiguration& configuration);

    /// `<configured>/u<uid>`; empty if there is no directory to use.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Opens it as it is. Absent is not a fault: nothing was kept yet.
    [[nodiscard]] tl::expected<FileDescriptor, Miss> open() const;

    /// Opens it, made where it is missing: parents too, 0755 without what the umask takes.
    [[nodiscard]] tl::expected<FileDescriptor, Miss> make() const;

    /// Whether files in it are to be believed, for `entry_files::read`.
    [[nodiscard]] entry_files::Objection objection() const;

private:
    [[nodiscard]] tl::expected<FileDescriptor, Miss> open_in(int parent) const;

    std::string parent_;
    std::string name_;
    std::string path_;
    bool trust_any_;
};

}  // namespace kiln
