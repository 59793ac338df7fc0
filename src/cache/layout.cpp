// SPDX-License-Identifier: Apache-2.0
#include "cache/layout.hpp"

#include <algorithm>

namespace kiln::layout {
namespace {

constexpr std::size_t shard_digits = 2;
constexpr std::size_t name_digits = 32;

bool is_hex(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string shard(std::string_view key_name) {
    return std::string(key_name.substr(0, shard_digits));
}

std::string entry_file(std::string_view key_name) {
    return std::string(key_name).append(entry_suffix);
}

std::string entry_path(std::string_view key_name) {
    return shard(key_name) + "/" + entry_file(key_name);
}

bool is_key_name(std::string_view name) noexcept {
    return name.size() == name_digits && is_hex(name);
}

bool is_shard(std::string_view name) noexcept {
    return name.size() == shard_digits && is_hex(name);
}

std::string_view key_name_of_file(std::string_view shard, std::string_view file) noexcept {
    if (file.size() != name_digits + entry_suffix.size() || file.substr(name_digits) != entry_suffix) return {};
    const std::string_view name = file.substr(0, name_digits);
    return is_key_name(name) && name.substr(0, shard_digits) == shard ? name : std::string_view();
}

}  // namespace kiln::layout
