// SPDX-License-Identifier: Apache-2.0
#include "driver/library.hpp"

#include "driver/errors.hpp"

namespace kiln::driver {

Result<LoadedLibrary> LoadedLibrary::load(const Context& context, std::span<const std::byte> cubin) {
    auto own = context.share();
    if (!own) return pass_on(own);
    auto guard = own->enter();
    if (!guard) return pass_on(guard);
    CUlibrary handle = nullptr;
    const CUresult result = context.cuda().library_load_data(&handle, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) {
        return fail_call(context.cuda(), result,
                         fmt::format("loading a cubin of {} bytes on GPU {}", cubin.size(), context.device().ordinal));
    }
    return LoadedLibrary(std::move(*own), handle);
}

LoadedLibrary::LoadedLibrary(LoadedLibrary&& other) noexcept
    : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, nullptr)) {}

LoadedLibrary::~LoadedLibrary() {
    if (handle_ == nullptr) return;
    context_.enter_to_release(
        [&] { ignore_result(context_.cuda(), context_.cuda().library_unload(handle_), "unloading a cubin"); });
}

Result<Kernel> LoadedLibrary::kernel(const char* name) const {
    auto guard = context_.enter();
    if (!guard) return pass_on(guard);
    const EntryPoints& cuda = context_.cuda();
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    CUresult result = cuda.library_get_kernel(&kernel, handle_, name);
    if (result == CUDA_SUCCESS) result = cuda.kernel_get_function(&function, kernel);
    if (result != CUDA_SUCCESS) return fail_call(cuda, result, fmt::format("finding the kernel {} in a cubin", name));
    return Kernel::describe(context_, function);
}

}  // namespace kiln::driver
