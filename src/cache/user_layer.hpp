// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "cache/entry_files.hpp"
#include "cache/eviction.hpp"
#include "cache/layer.hpp"
#include "cache/own_directory.hpp"

namespace kiln {

/// The user's directory: the one layer that is written to. Reading and writing never fail a model; trouble is said once.
class UserLayer final : public Layer {
public:
    explicit UserLayer(const CacheConfiguration& configuration);

    [[nodiscard]] Origin origin() const noexcept override { return Origin::user; }
    [[nodiscard]] const std::string& path() const noexcept override { return directory_.path(); }
    [[nodiscard]] tl::expected<Entry, Miss> look(const Key& key) override;
    [[nodiscard]] tl::expected<Bytes, Miss> read(const std::string& key_name) override;
    [[nodiscard]] tl::expected<void, Miss> list(const ListFunction& call) override;

    /// Puts an entry into the directory, replacing one of the same name; says why not otherwise.
    [[nodiscard]] std::string publish(const std::string& key_name, ByteView entry);

    /// Has what was published reach the disk.
    void sync();

    /// An empty sentence where publishing makes sense at all.
    [[nodiscard]] std::string why_not_writable() const;
    [[nodiscard]] const OwnDirectory& directory() const noexcept { return directory_; }

private:
    [[nodiscard]] tl::expected<FileDescriptor, Miss> open();
    [[nodiscard]] std::string give_up(std::string why);
    void warn_once(const std::string& what);

    const std::string why_no_directory_;
    const CacheMode mode_;
    const OwnDirectory directory_;
    const entry_files::Objection objection_;
    SizeLimit size_limit_;
    std::atomic<bool> warned_{false};
};

}  // namespace kiln
