// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cache/bundle.hpp"
#include "cache/layer.hpp"

namespace kiln {

/// A bundle of `KILN_CACHE_LAYERS`, used in place: its index is read once, an entry when it is asked for. The file stays open, so
/// replacing it by another (with a rename, as `export` does) changes nothing for processes that run.
class BundleLayer final : public ReadOnlyLayer {
public:
    BundleLayer(std::string path, bool trust_any);

    [[nodiscard]] Origin origin() const noexcept override { return Origin::bundle; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    [[nodiscard]] tl::expected<Bytes, Miss> read(const std::string& key_name) override;
    [[nodiscard]] tl::expected<void, Miss> check_rest() override;
    [[nodiscard]] tl::expected<void, Miss> list(const ListFunction& call) override;

private:
    [[nodiscard]] std::optional<Miss> open(bool trust_any);

    const std::string path_;
    FileDescriptor file_;
    bundle::Index index_;
    std::int64_t modified_s_ = 0;
    const std::optional<Miss> unusable_;  ///< what every look answers, if the bundle cannot be used
};

}  // namespace kiln
