// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <string>

/// Whom Kiln believes. A cubin is code that will run as this user, and a checksum authenticates nothing: what counts is who could
/// have written it. Each check answers with an empty string, or with a sentence that names the path and says how to mend it.
namespace kiln::trust {

/// The user's own directory and the files in it: owned by the effective user, and writable by nobody else.
[[nodiscard]] std::string objection_to_own(const struct stat& facts, const std::string& path);

/// A read-only layer: owned by the effective user or root, or on a file system that is mounted read-only; and in any case not
/// writable by group or others.
[[nodiscard]] std::string objection_to_layer(const struct stat& facts, bool read_only_mount, const std::string& path);

}  // namespace kiln::trust
