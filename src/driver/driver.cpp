// SPDX-License-Identifier: Apache-2.0
#include "driver/driver.hpp"

#include <atomic>
#include <memory>

#include "driver/errors.hpp"
#include "support/dynamic_library.hpp"
#include "support/environment.hpp"
#include "support/log.hpp"

namespace kiln::driver {
namespace {

constexpr int oldest_version = 12000;

/// Fills the table; the name of the first symbol that is not there, or null.
const char* resolve_all(const DynamicLibrary& opened, EntryPoints& cuda) {
#define KILN_RESOLVE(name, symbol, type) \
    if (!opened.resolve(symbol, cuda.name)) return symbol;
    KILN_CUDA_ENTRY_POINTS(KILN_RESOLVE)
#undef KILN_RESOLVE
    return nullptr;
}

Result<std::unique_ptr<Library>> load() {
    const std::string chosen = environment("KILN_CUDA_LIBRARY");
    const std::string name = chosen.empty() ? "libcuda.so.1" : chosen;
    auto opened = DynamicLibrary::open(name);
    if (!opened) {
        return fail(ErrorCode::no_driver,
                    "cannot open the CUDA driver: {}; install NVIDIA's driver (525 or newer), or {} KILN_CUDA_LIBRARY",
                    opened.error(), chosen.empty() ? "set" : "correct");
    }

    auto library = std::make_unique<Library>();
    library->path = opened->path();
    // The version first: an older driver lacks entry points, and its number says more than the name of one.
    if (!opened->resolve("cuDriverGetVersion", library->cuda.driver_get_version) ||
        library->cuda.driver_get_version(&library->version) != CUDA_SUCCESS) {
        return fail(ErrorCode::no_driver, "{} is not a CUDA driver: it does not say its version", library->path);
    }
    if (library->version < oldest_version) {
        return fail(ErrorCode::no_driver, "the CUDA driver {} is for CUDA {}; Kiln needs CUDA {} (driver 525) or newer",
                    library->path, version_text(library->version), version_text(oldest_version));
    }
    if (const char* missing = resolve_all(*opened, library->cuda)) {
        return fail(ErrorCode::no_driver, "the CUDA driver {} says that it is for CUDA {}, but has no {}", library->path,
                    version_text(library->version), missing);
    }
    opened->keep_open();
    return library;
}

std::atomic<const Library*> the_library{nullptr};
std::atomic<const EntryPoints*> the_entry_points{nullptr};

Result<void> initialise(const Library& library) {
    const CUresult result = library.cuda.init(0);
    if (result == CUDA_SUCCESS) return {};
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

    note_initialisation();  // before the opening: a child that is forked in the middle of that cannot use the library either
    auto library = open_library();
    if (!library) {
        undo_initialisation();
        return pass_on(library);
    }
    if (auto started = initialise(**library); !started) {
        undo_initialisation();
        return pass_on(started);
    }
    the_entry_points.store(&(*library)->cuda, std::memory_order_release);
    return &(*library)->cuda;
}

}  // namespace kiln::driver
