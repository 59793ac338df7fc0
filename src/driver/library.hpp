// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "driver/kernel.hpp"

namespace kiln::driver {

/// A loaded cubin. Holds the GPU's context; unloads the code on destruction, which must not happen before its launches are done.
///
/// The load itself belongs to no context, so one that is made while another GPU's context is current is right too. Movable;
/// thread safe.
class LoadedLibrary {
public:
    /// Copies the image into the driver. What the driver refuses about the image itself is `is_refused_image`.
    [[nodiscard]] static Result<LoadedLibrary> load(const Context& context, std::span<const std::byte> cubin);

    LoadedLibrary(LoadedLibrary&& other) noexcept;
    LoadedLibrary& operator=(LoadedLibrary&&) = delete;
    ~LoadedLibrary();

    /// Finds a kernel, and makes the driver load its code now: it would do so at the first launch, which fails inside a capture.
    [[nodiscard]] Result<Kernel> kernel(const char* name) const;

    [[nodiscard]] const Context& context() const noexcept { return context_; }

private:
    LoadedLibrary(Context context, CUlibrary handle) noexcept : context_(std::move(context)), handle_(handle) {}

    Context context_;
    CUlibrary handle_;  ///< null once moved from
};

}  // namespace kiln::driver
