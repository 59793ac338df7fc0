// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace kiln::test {

/// $TMPDIR, or where files are quickest: in memory, because tests make and remove very many.
inline std::filesystem::path temporary_root() {
    constexpr const char* in_memory = "/dev/shm";
    if (std::getenv("TMPDIR") == nullptr && access(in_memory, W_OK) == 0) return in_memory;
    return std::filesystem::temp_directory_path();
}

/// A new empty directory, removed with all that is in it.
class TemporaryDirectory {
public:
    TemporaryDirectory() {
        std::string pattern = (temporary_root() / "kiln-test-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
        path_ = pattern;
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

}  // namespace kiln::test
