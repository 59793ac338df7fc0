// SPDX-License-Identifier: Apache-2.0
#include "cache/memory_cubins.hpp"

#include <utility>

namespace kiln {
namespace {

std::size_t size_of(const std::pair<Key, MemoryCubins::Item>& use) noexcept {
    return use.first.text.size() + use.second.cubin->size();
}

}  // namespace

std::optional<MemoryCubins::Item> MemoryCubins::find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = by_name_.find(key.name);
    if (found == by_name_.end() || found->second->first.text != key.text) return std::nullopt;
    uses_.splice(uses_.begin(), uses_, found->second);
    return found->second->second;
}

void MemoryCubins::put(const Key& key, Item item) {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_name_.find(key.name); found != by_name_.end()) remove(found->second);
    uses_.emplace_front(key, std::move(item));
    by_name_.emplace(uses_.front().first.name, uses_.begin());
    bytes_ += size_of(uses_.front());
    while (bytes_ > maximum_bytes_) remove(std::prev(uses_.end()));
}

void MemoryCubins::erase(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = by_name_.find(key.name);
    if (found != by_name_.end() && found->second->first.text == key.text) remove(found->second);
}

std::size_t MemoryCubins::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

void MemoryCubins::remove(Uses::iterator which) {
    bytes_ -= size_of(*which);
    by_name_.erase(which->first.name);
    uses_.erase(which);
}

}  // namespace kiln
