// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cache/configuration.hpp"
#include "support/files.hpp"
#include "support/result.hpp"

namespace kiln {

/// The user's directory for commands that work on it: nothing if there is none yet, a failure if it must not be used.
[[nodiscard]] Result<std::optional<FileDescriptor>> open_own_directory(const CacheConfiguration& configuration);

/// The same for what removes from it, which `KILN_CACHE` must allow.
[[nodiscard]] Result<std::optional<FileDescriptor>> open_own_directory_to_write(const CacheConfiguration& configuration);

/// The same, made where it is missing.
[[nodiscard]] Result<FileDescriptor> make_own_directory(const CacheConfiguration& configuration);

[[nodiscard]] std::string own_directory_path(const CacheConfiguration& configuration);

}  // namespace kiln
