// SPDX-License-Identifier: Apache-2.0
#include "jit/nvrtc.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>

#include "driver/arch_table.hpp"
#include "jit/nvrtc_search.hpp"
#include "support/dynamic_library.hpp"
#include "support/elf_build_id.hpp"
#include "support/log.hpp"
#include "support/process_local.hpp"

namespace kiln::jit {
namespace {

std::atomic<const Nvrtc*> the_library{nullptr};
std::atomic<int> holds{0};
std::atomic<bool> must_copy{false};  ///< in a child that was forked while the parent was inside the library

/// NVRTC asks for the local time when it starts to compile, under a lock of libc's that a fork does not renew: a child whose
/// parent had a thread in there waits for ever as soon as it wants the time itself. With the zone already loaded a thread is in
/// there for less than a microsecond, and this waits until it is out.
void before_fork() noexcept {
    if (holds.load() > 0) tzset();
}

/// The child's holds are none, whatever the parent's other threads were doing; what they were inside is never used again.
void after_fork_in_child() noexcept {
    if (holds.exchange(0) == 0) return;
    the_library.store(nullptr);
    must_copy.store(true);
}

[[maybe_unused]] const int is_watching = pthread_atfork(before_fork, nullptr, after_fork_in_child);

bool resolve_all(const DynamicLibrary& opened, NvrtcEntryPoints& functions) {
#define KILN_RESOLVE(name, symbol) \
    if (!opened.resolve(#symbol, functions.name)) return false;
    KILN_NVRTC_ENTRY_POINTS(KILN_RESOLVE)
#undef KILN_RESOLVE
    return true;
}

std::vector<int> arch_numbers(const NvrtcEntryPoints& functions) {
    int count = 0;
    if (functions.get_num_supported_archs(&count) != NVRTC_SUCCESS || count <= 0) return {};
    std::vector<int> numbers(static_cast<std::size_t>(count));
    if (functions.get_supported_archs(numbers.data()) != NVRTC_SUCCESS) return {};
    return numbers;
}

/// Opens the device code that NVRTC looks for by name at the first compile: not every libnvrtc (13.0's, for one) finds it beside
/// itself, but all find what is open already.
void open_builtins(const std::string& path, int major, int minor) {
    const auto builtins = builtins_beside(path, major, minor);
    if (builtins.empty()) return;
    if (auto opened = DynamicLibrary::open(builtins)) {
        opened->keep_open();
    } else {
        log::debug("NVRTC's builtins: {}", opened.error());
    }
}

/// A reason, for the message that lists them, if the file cannot be used.
tl::expected<std::unique_ptr<Nvrtc>, std::string> load(const std::string& file) {
    auto opened = must_copy.load() ? DynamicLibrary::open_copy(file) : DynamicLibrary::open(file);
    if (!opened) return tl::unexpected(opened.error());
    auto nvrtc = std::make_unique<Nvrtc>();
    nvrtc->path = must_copy.load() ? file : opened->path();
    if (!resolve_all(*opened, nvrtc->functions) || nvrtc->functions.version(&nvrtc->major, &nvrtc->minor) != NVRTC_SUCCESS) {
        return tl::unexpected(file + " is not NVRTC, or is older than 12.0");
    }
    if (nvrtc->major < oldest_major) return tl::unexpected(fmt::format("{} is NVRTC {}", file, nvrtc->version()));
    nvrtc->arch_numbers = arch_numbers(nvrtc->functions);
    open_builtins(nvrtc->path, nvrtc->major, nvrtc->minor);
    opened->keep_open();
    return nvrtc;
}

Result<std::unique_ptr<Nvrtc>> find_and_load() {
    const SearchPlaces places = search_places();
    std::unique_ptr<Nvrtc> found;
    std::string reasons;
    const auto take = [&](const std::string& file) {
        auto nvrtc = load(file);
        if (nvrtc) {
            found = std::move(*nvrtc);
        } else {
            reasons += "\n  " + nvrtc.error();
        }
        return found != nullptr;
    };
    search_nvrtc(places, [&](const std::filesystem::path& file) { return take(file.string()); });
    // Last, whatever else the dynamic linker may know.
    if (places.library.empty()) static_cast<void>(found || take("libnvrtc.so.13") || take("libnvrtc.so.12"));
    if (found) return found;
    return fail(
        ErrorCode::no_nvrtc,
        "cannot open NVRTC 12.0 or newer; install the CUDA toolkit or the wheel nvidia-cuda-nvrtc, or {} KILN_NVRTC_LIBRARY:{}",
        places.library.empty() ? "set" : "correct", reasons);
}

}  // namespace

std::string Nvrtc::version() const {
    return fmt::format("{}.{}", major, minor);
}

bool Nvrtc::supports(const Arch& arch) const {
    return std::find(arch_numbers.begin(), arch_numbers.end(), arch.number()) != arch_numbers.end();
}

std::vector<Arch> Nvrtc::supported_archs() const {
    std::vector<Arch> archs;
    for (const Arch* arch : ArchTable::all()) {
        if (supports(*arch)) archs.push_back(*arch);
    }
    return archs;
}

NvrtcInUse::NvrtcInUse() : generation_(fork_generation()) {
    holds.fetch_add(1);
}

NvrtcInUse::~NvrtcInUse() {
    if (generation_ == fork_generation()) holds.fetch_sub(1);  // a hold that was forked with its thread counts for the parent
}

// Two threads may both load it at first: dlopen counts, and the facts are the same. A lock could stay locked in a forked child.
// NOLINTNEXTLINE(readability-convert-member-functions-to-static): who asks for the library must hold it
Result<const Nvrtc*> NvrtcInUse::library() const {
    const Nvrtc* nvrtc = the_library.load(std::memory_order_acquire);
    if (nvrtc != nullptr) return nvrtc;
    auto loaded = find_and_load();
    if (!loaded) return pass_on(loaded);
    tzset();  // reads the zone's file: not to be done in the middle of a compile, see before_fork
    if (!the_library.compare_exchange_strong(nvrtc, loaded->get(), std::memory_order_acq_rel)) return nvrtc;
    nvrtc = loaded->release();
    log::debug("NVRTC {} is {}", nvrtc->version(), nvrtc->path);
    return nvrtc;
}

Result<Nvrtc> describe_nvrtc() {
    const NvrtcInUse in_use;
    auto nvrtc = in_use.library();
    if (!nvrtc) return pass_on(nvrtc);
    return **nvrtc;
}

Result<std::string> nvrtc_build_id() {
    std::string first;
    search_nvrtc(search_places(), [&](const std::filesystem::path& file) {
        first = file.string();
        return true;
    });
    if (!first.empty()) {
        auto id = elf_build_id(first);
        if (id) return id;
        return fail(ErrorCode::no_nvrtc, "NVRTC, whose build-id is asked for, cannot be read: {}", id.error().message);
    }
    return fail(
        ErrorCode::no_nvrtc,
        "there is no libnvrtc, whose build-id is asked for; install the CUDA toolkit or the wheel nvidia-cuda-nvrtc, or set "
        "KILN_NVRTC_LIBRARY");
}

}  // namespace kiln::jit
