// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "cache/counters.hpp"
#include "cache/key.hpp"
#include "support/result.hpp"
#include "support/single_flight.hpp"

namespace kiln {

/// A kernel's key and the device that it is loaded on. Models that share a key compare no text of it: a text is as long as a
/// source, and threads would wait for each other's comparisons.
struct LoadedKey {
    std::shared_ptr<const Key> key;
    int device = 0;

    friend bool operator==(const LoadedKey& a, const LoadedKey& b) noexcept {
        return a.device == b.device && (a.key == b.key || *a.key == *b.key);
    }
};

struct LoadedKeyHash {
    [[nodiscard]] std::size_t operator()(const LoadedKey& loaded) const noexcept {
        return KeyHash{}(*loaded.key) * 31 + static_cast<std::size_t>(loaded.device);
    }
};

/// Kernels that are loaded into the driver, shared between equal models of a process for as long as one of them lives.
///
/// This is the first place that is asked, before any cubin: a hit costs a look-up. Thread safe; models that ask at
/// the same time wait for one load; a failed load is not remembered.
template <typename Kernel>
class LoadedKernels {
public:
    using Pointer = std::shared_ptr<const Kernel>;

    struct Got {
        Pointer kernel;
        bool shared = false;  ///< it was there, or another model loaded it meanwhile
    };

    /// The kernel, loaded by `load` (→ Result<Pointer>) where there is none.
    template <typename Load>
    [[nodiscard]] Result<Got> get(std::shared_ptr<const Key> key, int device, Load&& load) {
        const LoadedKey loaded{std::move(key), device};
        if (Pointer kernel = find(loaded)) {
            count_loaded_hit();
            return Got{std::move(kernel), true};
        }
        bool was_there = false;
        auto outcome = loads_.run(loaded, [&]() -> Result<Pointer> {
            if (Pointer kernel = find(loaded)) {  // loaded between the look and the flight
                was_there = true;
                return kernel;
            }
            Result<Pointer> kernel = load();
            if (kernel) put(loaded, *kernel);
            return kernel;
        });
        const bool shared = outcome.joined || was_there;
        if (shared && outcome.result) count_loaded_hit();
        if (outcome.joined && !outcome.result) count_shared_failure();
        if (!outcome.result) return pass_on(outcome.result);
        return Got{std::move(*outcome.result), shared};
    }

    /// How many are alive.
    [[nodiscard]] std::size_t size() const {
        const std::lock_guard lock(mutex_);
        std::size_t alive = 0;
        for (const auto& [key, kernel] : kernels_) alive += kernel.expired() ? 0 : 1;
        return alive;
    }

private:
    [[nodiscard]] Pointer find(const LoadedKey& loaded) const {
        const std::lock_guard lock(mutex_);
        const auto found = kernels_.find(loaded);
        return found == kernels_.end() ? nullptr : found->second.lock();
    }

    void put(const LoadedKey& loaded, const Pointer& kernel) {
        const std::lock_guard lock(mutex_);
        if (kernels_.size() >= sweep_at_) {
            std::erase_if(kernels_, [](const auto& each) { return each.second.expired(); });
            sweep_at_ = std::max<std::size_t>(smallest_sweep, 2 * kernels_.size());
        }
        kernels_.insert_or_assign(loaded, kernel);
    }

    static constexpr std::size_t smallest_sweep = 64;

    mutable std::mutex mutex_;
    std::unordered_map<LoadedKey, std::weak_ptr<const Kernel>, LoadedKeyHash> kernels_;
    std::size_t sweep_at_ = smallest_sweep;
    SingleFlight<LoadedKey, Pointer, LoadedKeyHash> loads_;
};

}  // namespace kiln
