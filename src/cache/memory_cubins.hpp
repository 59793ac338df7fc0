// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "cache/key.hpp"
#include "support/bytes.hpp"

namespace kiln {

/// Cubins that this process has had, least recently used first out. Thread safe.
class MemoryCubins {
public:
    static constexpr std::size_t default_maximum_bytes = std::size_t{64} << 20;

    struct Item {
        std::shared_ptr<const Bytes> cubin;
        std::string toolchain;
        bool on_disk = false;
    };

    explicit MemoryCubins(std::size_t maximum_bytes = default_maximum_bytes) noexcept : maximum_bytes_(maximum_bytes) {}

    [[nodiscard]] std::optional<Item> find(const Key& key);
    void put(const Key& key, Item item);
    void erase(const Key& key);
    [[nodiscard]] std::size_t bytes() const;

private:
    using Uses = std::list<std::pair<Key, Item>>;  // most recent first
    void remove(Uses::iterator which);

    const std::size_t maximum_bytes_;
    mutable std::mutex mutex_;
    Uses uses_;
    std::unordered_map<std::string_view, Uses::iterator> by_name_;  // the names are those in `uses_`
    std::size_t bytes_ = 0;
};

}  // namespace kiln
