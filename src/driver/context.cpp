// SPDX-License-Identifier: Apache-2.0
#include "driver/context.hpp"

#include "driver/errors.hpp"

namespace kiln::driver {

Result<Context> Context::retain(int ordinal) {
    auto found = driver::device(ordinal);
    if (!found) return pass_on(found);
    return retain(**found);
}

Result<Context> Context::retain(const Device& device) {
    auto cuda = entry_points();
    if (!cuda) return pass_on(cuda);
    CUcontext handle = nullptr;
    const CUresult result = (*cuda)->device_primary_ctx_retain(&handle, device.handle);
    if (result != CUDA_SUCCESS) {
        return fail_call(**cuda, result, fmt::format("opening GPU {} ({})", device.ordinal, device.name));
    }
    return Context(**cuda, device, handle);
}

Context::Context(Context&& other) noexcept
    : cuda_(other.cuda_), device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

Context& Context::operator=(Context&& other) noexcept {
    if (this == &other) return *this;
    release();
    cuda_ = other.cuda_;
    device_ = other.device_;
    handle_ = std::exchange(other.handle_, nullptr);
    return *this;
}

Context::~Context() {
    release();
}

void Context::release() noexcept {
    if (handle_ == nullptr || is_forked()) return;
    ignore_result(*cuda_, cuda_->device_primary_ctx_release(device_->handle), "closing a GPU");
}

Result<Context::Guard> Context::enter() const {
    if (is_forked()) return fail_forked();
    CUcontext current = nullptr;
    if (cuda_->ctx_get_current(&current) == CUDA_SUCCESS && current == handle_) return Guard(nullptr);
    const CUresult result = cuda_->ctx_push_current(handle_);
    if (result != CUDA_SUCCESS) return fail_call(*cuda_, result, fmt::format("using GPU {} in this thread", device_->ordinal));
    return Guard(cuda_);
}

Context::Guard::~Guard() {
    if (cuda_ == nullptr || is_forked()) return;
    CUcontext popped = nullptr;
    ignore_result(*cuda_, cuda_->ctx_pop_current(&popped), "leaving a GPU's context");
}

Result<void> Context::synchronize() const {
    auto guard = enter();
    if (!guard) return pass_on(guard);
    return check(*cuda_, cuda_->ctx_synchronize(), fmt::format("waiting for GPU {}", device_->ordinal));
}

}  // namespace kiln::driver
