// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <kiln/spec.hpp>

#include "model/family.hpp"

namespace kiln {

/// The legal tiles of the Hopper shift family for a spec, each with its predicted time.
[[nodiscard]] std::vector<Candidate> shift_candidates(const ModelSpec& spec);

}  // namespace kiln
