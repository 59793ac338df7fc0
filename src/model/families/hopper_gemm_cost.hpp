// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <kiln/spec.hpp>

#include "model/families/hopper_gemm_tile.hpp"
#include "model/family.hpp"

namespace kiln {

/// Specs that all families of matrix products were written and checked for; the gemm family itself takes a few more.
[[nodiscard]] bool gemm_serves(const ModelSpec& spec);

/// What a launch decides when it knows the shape.
struct GemmLaunch {
    std::int64_t splits = 1;
    GemmLayout layout;
};
[[nodiscard]] GemmLaunch gemm_launch(const ModelSpec& spec, const GemmTile& tile, const Shape& shape,
                                     std::int64_t multiprocessors);

/// The legal tiles of the Hopper gemm family for a spec, each with its predicted time.
[[nodiscard]] std::vector<Candidate> gemm_candidates(const ModelSpec& spec);

/// The time of a forward at this shape by the slowest stage.
[[nodiscard]] Candidate gemm_cost(const ModelSpec& spec, const GemmTile& tile, const Shape& shape);

}  // namespace kiln
