// SPDX-License-Identifier: Apache-2.0
#include "support/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include <cerrno>
#include <mutex>

#include "support/files.hpp"

namespace kiln {
namespace {

/// Held while a library is opened, and by whoever forks: a child that is forked in the middle of that has a dynamic linker whose
/// lists are half changed, and a library that is half there. (In the few instructions around an opening, glibc looks after
/// itself.)
std::mutex opening;
[[maybe_unused]] const int forks_wait =
    pthread_atfork([] { opening.lock(); }, [] { opening.unlock(); }, [] { opening.unlock(); });

/// An anonymous file with the same content.
Io<FileDescriptor> copy_in_memory(const std::string& path) {
    const auto source = open_at(AT_FDCWD, path, O_RDONLY);
    if (!source) return tl::unexpected(source.error());
    const auto facts = status(source->get());
    if (!facts) return tl::unexpected(facts.error());
    FileDescriptor copy(memfd_create("kiln-library", MFD_CLOEXEC));
    if (!copy) return last_error();
    for (off_t left = facts->st_size; left > 0;) {
        const ssize_t sent = sendfile(copy.get(), source->get(), nullptr, static_cast<std::size_t>(left));
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return last_error();
        if (sent == 0) return tl::unexpected(std::make_error_code(std::errc::io_error));  // it got shorter
        left -= sent;
    }
    return copy;
}

}  // namespace

tl::expected<DynamicLibrary, std::string> DynamicLibrary::open(const std::string& path) {
    const std::lock_guard lock(opening);
    // Lazily bound: of a compiler's many functions one compile calls few.
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle != nullptr) return DynamicLibrary(handle);
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
    return tl::unexpected(why == nullptr ? "cannot open " + path : std::string(why));
}

tl::expected<DynamicLibrary, std::string> DynamicLibrary::open_copy(const std::string& path) {
    // The dynamic linker knows files apart by device and inode, so the copy is a library of its own to it.
    const auto copy = copy_in_memory(path);
    if (!copy) return tl::unexpected(path + ": " + copy.error().message());
    return open("/proc/self/fd/" + std::to_string(copy->get()));
}

DynamicLibrary::~DynamicLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
}

void* DynamicLibrary::address(const char* symbol) const noexcept {
    return dlsym(handle_, symbol);
}

std::string DynamicLibrary::path() const {
    const link_map* map = nullptr;
    if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
    return map->l_name;
}

}  // namespace kiln
