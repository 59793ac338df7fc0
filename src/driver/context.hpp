// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "driver/device.hpp"

namespace kiln::driver {

/// A hold on a GPU's primary context, which the CUDA runtime and other libraries of the process use too.
///
/// Each object retains it once and releases it once, so whatever owns things in the context has its own. Movable; thread safe.
class Context {
public:
    [[nodiscard]] static Result<Context> retain(const Device& device);
    [[nodiscard]] static Result<Context> retain(int ordinal);

    /// One more hold on the same context.
    [[nodiscard]] Result<Context> share() const { return retain(*device_); }

    Context(Context&& other) noexcept;
    Context& operator=(Context&& other) noexcept;
    ~Context();

    /// Makes the context current in this thread while it lives, and costs one query where it already is.
    class Guard {
    public:
        Guard(Guard&& other) noexcept : cuda_(std::exchange(other.cuda_, nullptr)) {}
        Guard& operator=(Guard&&) = delete;
        ~Guard();

    private:
        friend class Context;
        explicit Guard(const EntryPoints* pushed) noexcept : cuda_(pushed) {}
        const EntryPoints* cuda_;  ///< null where there is nothing to pop
    };
    [[nodiscard]] Result<Guard> enter() const;

    /// For destructors: calls `body` inside the context, or not at all in a forked child or after the driver has shut down.
    template <typename Body>
    void enter_to_release(Body&& body) const noexcept {
        if (is_forked()) return;
        if (auto guard = enter()) std::forward<Body>(body)();
    }

    /// Waits for everything in the context.
    [[nodiscard]] Result<void> synchronize() const;

    [[nodiscard]] const Device& device() const noexcept { return *device_; }
    [[nodiscard]] const EntryPoints& cuda() const noexcept { return *cuda_; }
    [[nodiscard]] CUcontext handle() const noexcept { return handle_; }

private:
    Context(const EntryPoints& cuda, const Device& device, CUcontext handle) noexcept
        : cuda_(&cuda), device_(&device), handle_(handle) {}
    void release() noexcept;

    const EntryPoints* cuda_;
    const Device* device_;
    CUcontext handle_;  ///< null once moved from
};

}  // namespace kiln::driver
