// SPDX-License-Identifier: Apache-2.0
#include "driver/memory.hpp"

#include "driver/errors.hpp"

namespace kiln::driver {

Result<DeviceMemory> DeviceMemory::allocate(const Context& context, std::size_t bytes) {
    if (is_forked()) return fail_forked();
    if (bytes == 0) return DeviceMemory();
    auto own = context.share();
    if (!own) return pass_on(own);
    auto guard = own->enter();
    if (!guard) return pass_on(guard);
    CUdeviceptr address = 0;
    const CUresult result = context.cuda().mem_alloc(&address, bytes);
    if (result != CUDA_SUCCESS) {
        return fail_call(context.cuda(), result, fmt::format("allocating {} bytes on GPU {}", bytes, context.device().ordinal));
    }
    return DeviceMemory(std::move(*own), address, bytes);
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : context_(std::exchange(other.context_, std::nullopt)),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
    if (this == &other) return *this;
    free();
    context_ = std::exchange(other.context_, std::nullopt);
    address_ = std::exchange(other.address_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
}

DeviceMemory::~DeviceMemory() {
    free();
}

void DeviceMemory::free() noexcept {
    if (address_ == 0) return;
    context_->enter_to_release([&] { ignore_result(context_->cuda(), context_->cuda().mem_free(address_), "freeing memory"); });
}

Result<void> DeviceMemory::fill_bytes(unsigned char value) {
    if (bytes_ == 0) return {};
    auto guard = context_->enter();
    if (!guard) return pass_on(guard);
    if (auto filled = check(context_->cuda(), context_->cuda().memset_d8(address_, value, bytes_), "filling memory"); !filled)
        return filled;
    return wait_for_default_stream();
}

Result<void> DeviceMemory::copy_from_host(std::span<const std::byte> source) {
    if (source.size() > bytes_) return fail(ErrorCode::internal, "copying {} bytes into {}", source.size(), bytes_);
    if (source.empty()) return {};
    auto guard = context_->enter();
    if (!guard) return pass_on(guard);
    if (auto copied =
            check(context_->cuda(), context_->cuda().memcpy_htod(address_, source.data(), source.size()), "copying to the GPU");
        !copied)
        return copied;
    return wait_for_default_stream();
}

Result<void> DeviceMemory::wait_for_default_stream() const {
    return check(context_->cuda(), context_->cuda().stream_synchronize(nullptr), "waiting for memory to be written");
}

Result<void> DeviceMemory::copy_to_host(std::span<std::byte> destination) const {
    if (destination.size() > bytes_) return fail(ErrorCode::internal, "copying {} bytes out of {}", destination.size(), bytes_);
    if (destination.empty()) return {};
    auto guard = context_->enter();
    if (!guard) return pass_on(guard);
    return check(context_->cuda(), context_->cuda().memcpy_dtoh(destination.data(), address_, destination.size()),
                 "copying from the GPU");
}

Result<StreamMemory> StreamMemory::allocate(const Context& context, std::size_t bytes, CUstream stream) {
    if (is_forked()) return fail_forked();
    CUdeviceptr address = 0;
    const CUresult result = context.cuda().mem_alloc_async(&address, bytes, stream);
    if (result != CUDA_SUCCESS) {
        return fail_call(context.cuda(), result,
                         fmt::format("allocating {} bytes from the pool of GPU {}", bytes, context.device().ordinal));
    }
    return StreamMemory(context.cuda(), address, stream);
}

StreamMemory::StreamMemory(StreamMemory&& other) noexcept
    : cuda_(other.cuda_), address_(std::exchange(other.address_, 0)), stream_(other.stream_) {}

StreamMemory::~StreamMemory() {
    if (address_ == 0 || is_forked()) return;
    ignore_result(*cuda_, cuda_->mem_free_async(address_, stream_), "freeing memory of the pool");
}

Result<void> StreamMemory::fill_bytes(unsigned char value, std::size_t bytes) {
    if (is_forked()) return fail_forked();
    return check(*cuda_, cuda_->memset_d8_async(address_, value, bytes, stream_), "filling memory of the pool");
}

}  // namespace kiln::driver
