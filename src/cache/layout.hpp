// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// How files are named below a cache directory (a user's `u<uid>` directory, or a layer):
///
///     lock                                    locked byte by byte, never unlinked
///     <hh>/                                   256 shards: the first two digits of the name
///     <hh>/<32 hexadecimal digits>.kiln       one entry (cache/entry.hpp)
///     <hh>/tmp.<16 hexadecimal digits>        an entry being written (support/atomic_file.hpp)
///
/// Whatever has another name is not ours: it is never read, evicted or cleared.
namespace kiln::layout {

inline constexpr std::string_view entry_suffix = ".kiln";
inline constexpr const char* lock_file = "lock";

[[nodiscard]] std::string shard(std::string_view key_name);
[[nodiscard]] std::string entry_file(std::string_view key_name);
[[nodiscard]] std::string entry_path(std::string_view key_name);  ///< shard and file

[[nodiscard]] bool is_key_name(std::string_view name) noexcept;
[[nodiscard]] bool is_shard(std::string_view name) noexcept;

/// The key's name if this is an entry's file name in this shard; empty otherwise.
[[nodiscard]] std::string_view key_name_of_file(std::string_view shard, std::string_view file) noexcept;

}  // namespace kiln::layout
