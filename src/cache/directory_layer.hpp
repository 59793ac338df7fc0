// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/layer.hpp"
#include "support/files.hpp"

namespace kiln {

/// A read-only cache directory of `KILN_CACHE_LAYERS`.
///
/// Its entries lie directly in it, or in the `u<uid>` directories in it if somebody used it as a cache directory; each of these
/// must be trusted by itself. It is opened anew for each look, so that a layer that vanishes is noticed.
class DirectoryLayer final : public ReadOnlyLayer {
public:
    DirectoryLayer(std::string path, bool trust_any);

    [[nodiscard]] Origin origin() const noexcept override { return Origin::layer; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    [[nodiscard]] tl::expected<Bytes, Miss> read(const std::string& key_name) override;
    [[nodiscard]] tl::expected<void, Miss> list(const ListFunction& call) override;

private:
    struct Root {
        std::string path;
        FileDescriptor directory;
        bool read_only_mount;
    };
    [[nodiscard]] tl::expected<Root, Miss> open_root(int parent, const std::string& name, const std::string& path) const;
    [[nodiscard]] tl::expected<Root, Miss> open_layer() const { return open_root(AT_FDCWD, path_, path_); }

    /// Why a file or directory of the layer must not be believed.
    [[nodiscard]] std::string objection(const struct stat& facts, bool read_only_mount, const std::string& path) const;

    const std::string path_;
    const bool trust_any_;
    std::vector<std::string> user_directories_;  ///< names, found once
};

}  // namespace kiln
