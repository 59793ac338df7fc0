// SPDX-License-Identifier: Apache-2.0
#include "cache/upkeep/selection.hpp"

#include <string_view>

namespace kiln {
namespace {

/// "13.0" begins "13.0.88" and "13.0", but not "13.07".
bool is_version_prefix(std::string_view prefix, std::string_view version) {
    return version.starts_with(prefix) && (version.size() == prefix.size() || prefix.empty() || version[prefix.size()] == '.');
}

bool selects_head(const Selection& selection, const ListedEntry& entry) {
    if (!selection.arch && !selection.toolchain) return true;
    if (!entry.head) return false;
    const auto key = parse_key_head(entry.head->key_head);
    if (selection.arch && (!key || key->arch != *selection.arch)) return false;
    return !selection.toolchain || is_version_prefix(*selection.toolchain, entry.head->facts.toolchain);
}

}  // namespace

bool Selection::includes(const ListedEntry& entry, std::int64_t now_s) const {
    const std::int64_t age_s = now_s - entry.used_s;
    if (unused_for_s && age_s < *unused_for_s) return false;
    if (used_within_s && age_s > *used_within_s) return false;
    if (minimum_bytes && entry.bytes < *minimum_bytes) return false;
    if (maximum_bytes && entry.bytes > *maximum_bytes) return false;
    const bool other_format = !entry.head && entry.head.error().kind == EntryFault::Kind::other_version;
    return (!other_formats_only || other_format) && selects_head(*this, entry);
}

}  // namespace kiln
