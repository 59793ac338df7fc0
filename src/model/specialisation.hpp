// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <kiln/spec.hpp>

#include "jit/source.hpp"
#include "model/planner.hpp"
#include "support/result.hpp"

namespace kiln {

/// The constants of the preamble: the spec's (`expected` is not among them), then the tile's. `specialisation.cuh` mirrors the
/// names.
[[nodiscard]] std::vector<Constant> specialisation_constants(const ModelSpec& spec, const Tile& tile);

/// The source of the planned kernel, as NVRTC gets it.
[[nodiscard]] Result<std::string> specialised_source(const ModelSpec& spec, const Plan& plan);

}  // namespace kiln
