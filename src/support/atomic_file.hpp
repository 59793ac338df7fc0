// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "support/files.hpp"

namespace kiln {

/// A file that appears under its name whole, or not at all.
///
/// Bytes go to a temporary of a unique name in the same directory, which `commit` renames and which the destructor removes
/// otherwise. Nothing is forced to the disk: after a power failure the named file may be torn, so readers must verify it.
class AtomicFile {
public:
    /// `directory` must stay open as long as this.
    [[nodiscard]] static Io<AtomicFile> create(int directory);

    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();

    [[nodiscard]] Io<void> write(ByteView bytes);

    /// Takes the name, replacing the file that had it.
    [[nodiscard]] Io<void> commit(const std::string& name);

    /// Whether a file of this name is (or was, until its process died) a temporary of this class: "tmp." and 16 hex digits.
    [[nodiscard]] static bool is_temporary_name(std::string_view name) noexcept;

private:
    AtomicFile(int directory, std::string temporary, FileDescriptor file) noexcept;
    int directory_;
    std::string temporary_;  ///< empty once committed or moved from
    FileDescriptor file_;
};

}  // namespace kiln
