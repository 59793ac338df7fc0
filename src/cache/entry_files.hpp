// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include <tl/expected.hpp>

#include "cache/entry.hpp"
#include "cache/layer.hpp"
#include "cache/miss.hpp"
#include "support/files.hpp"

/// Reading and writing the entries below a cache directory that is already open. Names are those of cache/layout.hpp; every path
/// is relative to that descriptor, and no link is followed.
namespace kiln::entry_files {

/// Says why a file must not be believed; an empty sentence if it may.
using Objection = std::function<std::string(const struct stat& facts, const std::string& path)>;

struct Found {
    Bytes bytes;          ///< as they are: nothing has been verified
    FileDescriptor file;  ///< still open, for `touch`
    struct stat facts;
};

/// The file of this name. `path` names the directory in what is said about it.
[[nodiscard]] tl::expected<Found, Miss> read(int directory, const std::string& path, const std::string& key_name,
                                             const Objection& objection);

/// Tells the eviction that an entry was of use, if it is older than an hour or in the future. Never fails.
void touch(const Found& found) noexcept;

/// Puts an entry under its name, whole or not at all. The shard is made where it is missing.
[[nodiscard]] Io<void> write(int directory, const std::string& key_name, ByteView bytes);

/// Removes an entry; fails with `no_such_file_or_directory` if there is none.
[[nodiscard]] Io<void> remove(int directory, const std::string& key_name);

/// A file in a shard that is open.
struct File {
    int shard;
    std::string name;
    struct stat facts;

    /// The key's name if this is an entry; empty if it is a temporary that a writer made, and has perhaps left behind.
    std::string key_name;
};

/// Calls with each file that is ours, in the order of names. What else lies around is passed over. A shard that cannot be read
/// keeps nobody from the others; the first reason is what is answered.
[[nodiscard]] Io<void> for_each(int directory, const std::function<void(const File&)>& call);

/// Calls with what the head of each entry says; `path` is that of the directory.
[[nodiscard]] tl::expected<void, Miss> list(int directory, const std::string& path, const ListFunction& call);

}  // namespace kiln::entry_files
