// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <kiln/options.hpp>
#include <kiln/report.hpp>

#include "cache/compile_turn.hpp"
#include "cache/configuration.hpp"
#include "cache/kernel_request.hpp"
#include "cache/key.hpp"
#include "cache/nearest.hpp"
#include "support/bytes.hpp"
#include "support/process_local.hpp"
#include "support/result.hpp"

namespace kiln {

/// What a compile gives. The cache knows nothing of NVRTC.
struct CompiledKernel {
    Bytes cubin;
    double compile_ms = 0;
};

/// Called at most once per key and process at a time, and never with a lock of the process held.
using CompileFunction = std::function<Result<CompiledKernel>()>;

/// The build-id of the libnvrtc that is installed; asked only where the toolchain must match exactly.
using BuildIdFunction = std::function<Result<std::string>()>;

/// A kernel, and how it was had.
struct CachedKernel {
    std::shared_ptr<const Bytes> cubin;
    Origin origin = Origin::compiled;
    std::string miss_reason;  ///< for a compile: why nothing matched
    double compile_ms = 0;    ///< 0 unless compiled here and now
    Key key;
    std::string toolchain;      ///< what built the cubin, from its own note; empty where it has none
    bool on_disk = false;       ///< a directory or a layer held it when it was had
    std::string publish_error;  ///< for a compile: why it could not be kept on disk
};

/// What `look` finds, without compiling, writing or locking anything.
struct CacheLook {
    Key key;
    std::optional<Origin> origin;  ///< where it would come from; nothing if it would be compiled
    std::string miss_reason;       ///< then: why
    bool on_disk = false;
    std::size_t cubin_bytes = 0;
    std::string toolchain;
};

/// The way from a request to a cubin: the places that may hold it, in order, and the compiler if none does.
///
/// Thread safe, and usable in a forked child whatever the parent's other threads were doing. No lock is held while compiling.
class KernelCache {
public:
    /// The cache for these options, the environment as it is now, and the defaults: the same object for equal answers, kept for
    /// the life of the process. Fails for settings that make no sense, and where `exact` is asked for and there is no build-id.
    [[nodiscard]] static Result<std::shared_ptr<KernelCache>> open(const CacheOptions& options,
                                                                   const BuildIdFunction& build_id = {});

    /// One that shares nothing with others.
    explicit KernelCache(CacheConfiguration configuration, std::string build_id = {}, const Patience& patience = {});
    KernelCache(const KernelCache&) = delete;
    KernelCache& operator=(const KernelCache&) = delete;
    ~KernelCache();

    /// The kernel, from the first place that has it, or compiled; a compiled one is kept where it can be. Trouble with files or
    /// locks never fails this: at worst the kernel is compiled again and kept in memory.
    [[nodiscard]] Result<CachedKernel> obtain(const KernelRequest& request, const CompileFunction& compile);

    /// The same, and the kernel is on disk afterwards, also where this process had it in memory only; `publish_error` if not.
    [[nodiscard]] Result<CachedKernel> obtain_on_disk(const KernelRequest& request, const CompileFunction& compile);

    [[nodiscard]] CacheLook look(const KernelRequest& request);

    /// The entry that comes closest to this kernel, which is not it: why it would be compiled. Reads the head of every entry.
    [[nodiscard]] std::optional<Nearest> nearest(const KernelRequest& request);

    /// The driver of this process refuses this cubin: equal bytes are no hit any more here, and other processes, whose driver may
    /// be newer, keep theirs.
    void refused(const Key& key, const Bytes& cubin);

    /// Whether a layer or the user's directory holds a good entry of this name now: what `warm` promises in the end.
    [[nodiscard]] bool holds(const std::string& key_name);

    /// Has all that was published reach the disk: once at the end, not per entry.
    void sync();

    [[nodiscard]] const CacheConfiguration& configuration() const noexcept { return configuration_; }
    [[nodiscard]] Key key(const KernelRequest& request) const { return make_key(request, build_id_); }
    /// Whether its keys are those of any toolchain, `make_key(request)`.
    [[nodiscard]] bool takes_any_toolchain() const noexcept { return build_id_.empty(); }

private:
    class Core;
    const CacheConfiguration configuration_;
    const std::string build_id_;
    ProcessLocal<Core> core_;
};

}  // namespace kiln
