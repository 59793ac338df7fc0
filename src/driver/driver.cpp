// SPDX-License-Identifier: Apache-2.0
#include "driver/driver.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <memory>

#include "driver/errors.hpp"
#include "support/environment.hpp"
#include "support/log.hpp"

namespace kiln::driver {
namespace {

constexpr int oldest_version = 12000;

/// A handle of dlopen, closed unless it is kept.
struct CloseLibrary {
    void operator()(void* handle) const noexcept { dlclose(handle); }
};
using Handle = std::unique_ptr<void, CloseLibrary>;

Result<Handle> open_file(const std::string& path) {
    Handle handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (handle) return handle;
    const char* why = dlerror();
    return fail(ErrorCode::no_driver, "cannot open the CUDA driver: {}; install NVIDIA's driver (525 or newer){}",
                why == nullptr ? path.c_str() : why,
                path == "libcuda.so.1" ? ", or set KILN_CUDA_LIBRARY" : ", or correct KILN_CUDA_LIBRARY");
}

std::string path_of(void* handle, const std::string& asked) {
    const link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name[0] == '\0') return asked;
    return map->l_name;
}

template <typename Function>
bool resolve(void* handle, const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, symbol));
    return function != nullptr;
}

/// Fills the table; the name of the first symbol that is not there, or null.
const char* resolve_all(void* handle, EntryPoints& cuda) {
#define KILN_RESOLVE(name, symbol, type) \
    if (!resolve(handle, symbol, cuda.name)) return symbol;
    KILN_CUDA_ENTRY_POINTS(KILN_RESOLVE)
#undef KILN_RESOLVE
    return nullptr;
}

Result<std::unique_ptr<Library>> load() {
    const std::string chosen = environment("KILN_CUDA_LIBRARY");
    const std::string name = chosen.empty() ? "libcuda.so.1" : chosen;
    auto handle = open_file(name);
    if (!handle) return pass_on(handle);

    auto library = std::make_unique<Library>();
    library->path = path_of(handle->get(), name);
    // The version first: an older driver lacks entry points, and its number says more than the name of one.
    if (!resolve(handle->get(), "cuDriverGetVersion", library->cuda.driver_get_version) ||
        library->cuda.driver_get_version(&library->version) != CUDA_SUCCESS) {
        return fail(ErrorCode::no_driver, "{} is not a CUDA driver: it does not say its version", library->path);
    }
    if (library->version < oldest_version) {
        return fail(ErrorCode::no_driver, "the CUDA driver {} is for CUDA {}; Kiln needs CUDA {} (driver 525) or newer",
                    library->path, version_text(library->version), version_text(oldest_version));
    }
    if (const char* missing = resolve_all(handle->get(), library->cuda)) {
        return fail(ErrorCode::no_driver, "the CUDA driver {} says that it is for CUDA {}, but has no {}", library->path,
                    version_text(library->version), missing);
    }
    handle->release();  // stays open: other threads may be inside it when the process ends
    return library;
}

std::atomic<const Library*> the_library{nullptr};
std::atomic<const EntryPoints*> the_entry_points{nullptr};

Result<void> initialise(const Library& library) {
    note_initialisation();
    const CUresult result = library.cuda.init(0);
    if (result == CUDA_SUCCESS) return {};
    undo_initialisation();
    if (result == CUDA_ERROR_NOT_INITIALIZED) {
        return fail(
            ErrorCode::forked,
            "the CUDA driver refuses to start in this process, as it does in the child of a process that had used it; fork "
            "first, or start the child with exec");
    }
    return fail_call(library.cuda, result, "starting the CUDA driver");
}

}  // namespace

std::string version_text(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// Two threads may both load it at first: dlopen counts, and the table is the same. A lock could stay locked in a forked child.
Result<const Library*> open_library() {
    const Library* library = the_library.load(std::memory_order_acquire);
    if (library != nullptr) return library;
    auto loaded = load();
    if (!loaded) return pass_on(loaded);
    if (!the_library.compare_exchange_strong(library, loaded->get(), std::memory_order_acq_rel)) return library;
    library = loaded->release();
    log::debug("driver {} is for CUDA {}", library->path, version_text(library->version));
    return library;
}

Result<const EntryPoints*> entry_points() {
    if (is_forked()) return fail_forked();
    if (const EntryPoints* cuda = the_entry_points.load(std::memory_order_acquire)) return cuda;
    auto library = open_library();
    if (!library) return pass_on(library);
    if (auto started = initialise(**library); !started) return pass_on(started);
    the_entry_points.store(&(*library)->cuda, std::memory_order_release);
    return &(*library)->cuda;
}

}  // namespace kiln::driver
