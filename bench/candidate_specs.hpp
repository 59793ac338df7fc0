// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kiln/spec.hpp>

namespace kiln::bench {

/// What the planner is asked about: `spec.expected` is the shape that is measured.
struct CandidateSpec {
    std::string name;
    ModelSpec spec;
    bool is_benchmark_shape = false;  ///< one of bench/shapes.json

    [[nodiscard]] const Shape& shape() const { return *spec.expected; }
};

/// The twelve benchmark shapes, and the same with math = tf32 ("mid_tf32").
[[nodiscard]] std::vector<CandidateSpec> benchmark_candidates();

/// Random specs such as networks have: 1 to 512 channels and filters, kernels of 1 to 7, pools of 1 to 8, some of them padded,
/// strided, dilated or rectangular, every fifth with math = tf32.
[[nodiscard]] std::vector<CandidateSpec> random_candidates(int count, std::uint32_t seed);

}  // namespace kiln::bench
