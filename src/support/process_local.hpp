// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace kiln {

/// How many forks lie between this process and the one that loaded Kiln. Cheap: no system call.
[[nodiscard]] unsigned fork_generation() noexcept;

/// A value that a forked child must not inherit, because another thread of the parent may hold its locks or be in the middle of
/// changing it: each process gets one of its own, made at its first use there.
///
/// The parent's stays where it is, untouched and never destroyed in the child. Thread safe.
template <typename T>
class ProcessLocal {
public:
    explicit ProcessLocal(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}
    ProcessLocal(const ProcessLocal&) = delete;
    ProcessLocal& operator=(const ProcessLocal&) = delete;
    ~ProcessLocal() {
        Node* node = newest_.load();
        // What belongs to a parent process is given up with it.
        if (node != nullptr && node->generation == fork_generation()) delete node;
    }

    [[nodiscard]] T& get() {
        const unsigned generation = fork_generation();
        Node* node = newest_.load(std::memory_order_acquire);
        if (node != nullptr && node->generation == generation) return *node->value;
        auto fresh = std::make_unique<Node>(Node{generation, make_(), node});
        if (newest_.compare_exchange_strong(node, fresh.get(), std::memory_order_acq_rel)) return *fresh.release()->value;
        return *node->value;  // another thread of this process was faster
    }

private:
    struct Node {
        unsigned generation;
        std::unique_ptr<T> value;
        Node* of_parent_process;  ///< keeps it reachable, so that leak checkers see that it was meant
    };
    std::function<std::unique_ptr<T>()> make_;
    std::atomic<Node*> newest_{nullptr};
};

}  // namespace kiln
