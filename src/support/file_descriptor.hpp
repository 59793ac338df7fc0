// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "support/system_calls.hpp"

namespace kiln {

/// Owns an open file. Movable; closing never reports (a writer that must know closes by hand, see AtomicFile).
class FileDescriptor {
public:
    FileDescriptor() noexcept = default;
    explicit FileDescriptor(int number) noexcept : number_(number) {}
    FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        if (this != &other) {
            reset();
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    ~FileDescriptor() { reset(); }

    [[nodiscard]] int get() const noexcept { return number_; }
    explicit operator bool() const noexcept { return number_ >= 0; }
    [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }
    void reset() noexcept {
        if (number_ >= 0) sys::close(std::exchange(number_, -1));
    }

private:
    int number_ = -1;
};

}  // namespace kiln
