// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cache/key.hpp"
#include "cache/layer.hpp"

namespace kiln {

/// One thing in which a kernel that is wanted and an entry that is there differ.
struct Difference {
    std::string field;   ///< "arch", "tile", "spec.in_channels", "source"
    std::string wanted;  ///< empty where the wanted kernel has no such field, or it is too long to show
    std::string found;
};

/// The entry that comes closest to a kernel that is not cached: an answer to "why was it compiled again?".
struct Nearest {
    std::string key_name;
    std::string path;
    std::vector<Difference> differences;

    /// "arch is sm_80, not sm_90a; tile is …"
    [[nodiscard]] std::string text() const;
};

/// Finds the entry that differs in the fewest fields, one of the same spec before any other. Reads the head of every entry.
class NearestFinder {
public:
    /// Both must live as long as this.
    NearestFinder(const Key& key, const std::string& spec_json);

    void consider(const ListedEntry& entry);

    /// Nothing if no entry could be read.
    [[nodiscard]] const std::optional<Nearest>& result() const noexcept { return best_; }

private:
    const Key& key_;
    const std::string& spec_json_;
    std::shared_ptr<const nlohmann::json> spec_;  ///< null if it cannot be read
    std::optional<Nearest> best_;
    bool best_has_same_spec_ = false;
};

}  // namespace kiln
