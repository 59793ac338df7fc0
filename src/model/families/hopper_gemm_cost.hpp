// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <kiln/spec.hpp>

#include "model/family.hpp"

namespace kiln {

/// Specs that the families of matrix products were written and checked for; others belong to other families.
[[nodiscard]] bool gemm_serves(const ModelSpec& spec);

/// The legal tiles of the Hopper gemm family for a spec, each with its predicted time.
[[nodiscard]] std::vector<Candidate> gemm_candidates(const ModelSpec& spec);

}  // namespace kiln
