// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "driver/context.hpp"

namespace kiln::driver {

/// Memory on a GPU. Holds the GPU's context. Movable; copying from and to it is synchronous, on the default stream.
class DeviceMemory {
public:
    DeviceMemory() noexcept = default;

    /// At least 256-byte aligned, not initialised. Of zero bytes: no memory, a null address.
    [[nodiscard]] static Result<DeviceMemory> allocate(const Context& context, std::size_t bytes);

    DeviceMemory(DeviceMemory&& other) noexcept;
    DeviceMemory& operator=(DeviceMemory&& other) noexcept;
    ~DeviceMemory();

    /// These two return when the GPU has the bytes, so that any stream finds them.
    [[nodiscard]] Result<void> fill_bytes(unsigned char value);
    [[nodiscard]] Result<void> copy_from_host(std::span<const std::byte> source);
    [[nodiscard]] Result<void> copy_to_host(std::span<std::byte> destination) const;

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] CUdeviceptr address() const noexcept { return address_; }
    /// The GPU whose memory it is; null for no memory.
    [[nodiscard]] const Device* device() const noexcept { return context_ ? &context_->device() : nullptr; }
    template <typename T = void>
    [[nodiscard]] T* pointer() const noexcept {
        return reinterpret_cast<T*>(address_);  // NOLINT(performance-no-int-to-ptr): the driver's addresses are numbers
    }

private:
    DeviceMemory(Context context, CUdeviceptr address, std::size_t bytes) noexcept
        : context_(std::move(context)), address_(address), bytes_(bytes) {}
    void free() noexcept;
    [[nodiscard]] Result<void> wait_for_default_stream() const;

    std::optional<Context> context_;
    CUdeviceptr address_ = 0;
    std::size_t bytes_ = 0;
};

/// Stream-ordered memory from the device's pool: usable by what is queued on the stream between `allocate` and the destruction,
/// neither of which waits. The context must be current during both, and outlive it.
class StreamMemory {
public:
    [[nodiscard]] static Result<StreamMemory> allocate(const Context& context, std::size_t bytes, CUstream stream);

    StreamMemory(StreamMemory&& other) noexcept;
    StreamMemory& operator=(StreamMemory&&) = delete;
    ~StreamMemory();

    /// Queues the filling of the first bytes.
    [[nodiscard]] Result<void> fill_bytes(unsigned char value, std::size_t bytes);

    [[nodiscard]] CUdeviceptr address() const noexcept { return address_; }
    [[nodiscard]] void* pointer() const noexcept {
        return reinterpret_cast<void*>(address_);
    }  // NOLINT(performance-no-int-to-ptr)

private:
    StreamMemory(const EntryPoints& cuda, CUdeviceptr address, CUstream stream) noexcept
        : cuda_(&cuda), address_(address), stream_(stream) {}

    const EntryPoints* cuda_;
    CUdeviceptr address_;
    CUstream stream_;
};

}  // namespace kiln::driver
