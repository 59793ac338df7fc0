// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "cache/layer.hpp"
#include "cache/own_directory.hpp"

namespace kiln {

/// The user's directory: the one layer that is written to. Reading and writing never fail a model; trouble is said once.
class UserLayer final : public Layer {
public:
    explicit UserLayer(const CacheConfiguration& configuration);

    [[nodiscard]] tl::expected<Entry, Miss> look(const Key& key) override;
    [[nodiscard]] Origin origin() const noexcept override { return Origin::user; }
    [[nodiscard]] const std::string& path() const noexcept override { return directory_.path(); }

    /// Puts an entry into the directory, replacing one of the same name; says why not otherwise.
    [[nodiscard]] std::string publish(const Key& key, const EntryFacts& facts, ByteView cubin);

    /// Has what was published reach the disk.
    void sync();

private:
    /// An empty sentence where publishing makes sense at all.
    [[nodiscard]] std::string why_not_writable() const;
    void warn_once(const std::string& what);

    const std::string why_no_directory_;
    const CacheMode mode_;
    const OwnDirectory directory_;
    const entry_files::Objection objection_;
    std::once_flag warned_;
};

}  // namespace kiln
