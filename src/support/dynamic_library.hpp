// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace kiln {

/// A shared library that is opened while the program runs; closed on destruction unless it is kept. Movable.
class DynamicLibrary {
public:
    /// Opens a file, or a name that the dynamic linker looks for. Its symbols are seen by nothing else. An error is the linker's
    /// own sentence.
    [[nodiscard]] static tl::expected<DynamicLibrary, std::string> open(const std::string& path);

    /// Opens a copy of the file, with state of its own even where the file itself is open in this process already. The copy takes
    /// memory like a file's; nothing of it stays on disk.
    [[nodiscard]] static tl::expected<DynamicLibrary, std::string> open_copy(const std::string& path);

    DynamicLibrary(DynamicLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    DynamicLibrary& operator=(DynamicLibrary&&) = delete;
    ~DynamicLibrary();

    /// The address of a function; null if there is none of that name.
    template <typename Function>
    [[nodiscard]] Function function(const char* symbol) const noexcept {
        return reinterpret_cast<Function>(address(symbol));
    }

    /// Fills one entry of a table of functions; false if there is none of that name.
    template <typename Function>
    [[nodiscard]] bool resolve(const char* symbol, Function& entry) const noexcept {
        entry = function<Function>(symbol);
        return entry != nullptr;
    }

    /// The file that the dynamic linker took.
    [[nodiscard]] std::string path() const;

    /// Leaves it open for the life of the process: other threads may be inside it when the process ends.
    void keep_open() noexcept { handle_ = nullptr; }

private:
    explicit DynamicLibrary(void* handle) noexcept : handle_(handle) {}
    [[nodiscard]] void* address(const char* symbol) const noexcept;

    void* handle_;
};

}  // namespace kiln
