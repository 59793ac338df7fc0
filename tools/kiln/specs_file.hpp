// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <kiln/spec.hpp>

namespace kiln::tools {

/// The specs of a file given with --specs, validated; messages name the file and the place in it.
[[nodiscard]] std::vector<ModelSpec> read_specs(const std::string& file);

}  // namespace kiln::tools
