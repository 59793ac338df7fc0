// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "support/result.hpp"

namespace kiln {

/// Does each piece of work once for all threads that ask for it at the same time.
///
/// The first thread to ask works; the others wait and get the same outcome, a failure with its whole log included. Nothing is
/// remembered afterwards: whoever asks later works again, so the worker puts a success where others look first. No lock is held
/// during the work, so different keys go in parallel.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class SingleFlight {
public:
    struct Outcome {
        Result<Value> result;
        bool joined = false;  ///< another thread did the work
    };

    template <typename Work>
    [[nodiscard]] Outcome run(const Key& key, Work&& work) {
        std::promise<Result<Value>> promise;
        {
            std::unique_lock lock(mutex_);
            if (const auto found = flights_.find(key); found != flights_.end()) {
                const auto flight = found->second;
                lock.unlock();
                return {flight.get(), true};
            }
            flights_.emplace(key, promise.get_future().share());
        }
        Result<Value> result = call(work);
        {
            const std::lock_guard lock(mutex_);
            flights_.erase(key);
        }
        promise.set_value(result);
        return {std::move(result), false};
    }

private:
    /// Whatever happens, those who wait are told.
    template <typename Work>
    static Result<Value> call(Work& work) {
        try {
            return work();
        } catch (const std::bad_alloc&) {
            return fail(ErrorCode::out_of_memory, "there is not enough memory");
        } catch (const std::exception& error) {
            return fail(ErrorCode::internal, "{}", error.what());
        }
    }

    std::mutex mutex_;
    std::unordered_map<Key, std::shared_future<Result<Value>>, Hash> flights_;
};

}  // namespace kiln
