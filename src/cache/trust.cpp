// SPDX-License-Identifier: Apache-2.0
#include "cache/trust.hpp"

#include <unistd.h>

#include <fmt/format.h>

namespace kiln::trust {
namespace {

/// An access control list that lets somebody else write shows in the group's bits, which then hold its mask.
std::string objection_to_mode(const struct stat& facts, const std::string& path) {
    if ((facts.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
    return fmt::format("{} is writable by others than its owner (mode {:04o}): `chmod go-w {}` mends it", path,
                       facts.st_mode & 07777, path);
}

}  // namespace

std::string objection_to_own(const struct stat& facts, const std::string& path) {
    if (facts.st_uid != geteuid()) {
        return fmt::format("{} belongs to user {}, not to the effective user {}: remove it, or `chown {} {}`", path, facts.st_uid,
                           geteuid(), geteuid(), path);
    }
    return objection_to_mode(facts, path);
}

std::string objection_to_layer(const struct stat& facts, bool read_only_mount, const std::string& path) {
    if (facts.st_uid != geteuid() && facts.st_uid != 0 && !read_only_mount) {
        return fmt::format(
            "{} belongs to user {}, neither to root nor to the effective user {}: `chown` it, mount it read-only, or set "
            "KILN_CACHE_TRUST=any",
            path, facts.st_uid, geteuid());
    }
    std::string objection = objection_to_mode(facts, path);
    if (!objection.empty()) objection += ", or set KILN_CACHE_TRUST=any";
    return objection;
}

}  // namespace kiln::trust
