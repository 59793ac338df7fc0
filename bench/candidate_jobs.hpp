// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <kiln/arch.hpp>

#include "candidate_specs.hpp"
#include "model/planner.hpp"

namespace kiln::bench {

/// "simt positions=128,filters=64": what a kernel is known by in files of measurements.
[[nodiscard]] std::string name_of(const Plan& plan);

/// How many candidates are measured.
struct Selection {
    std::size_t best = 0;    ///< of each family so many best predicted; 0: all
    std::size_t others = 0;  ///< and so many spread over its rest
    std::size_t untold = 1;  ///< so many best where the planner is not told the shape
};

/// A spec with what is measured for it.
struct Job {
    CandidateSpec candidate;
    std::size_t legal = 0;                        ///< of the shape that is told
    std::vector<Plan> told{};                     ///< the first is the planner's choice
    std::vector<Plan> untold{};                   ///< and here, where it is not told the shape
    std::map<std::string, std::string> errors{};  ///< by the plan's name

    /// Each once, by name, those that are told first.
    [[nodiscard]] std::vector<const Plan*> plans() const;
};

[[nodiscard]] Job make_job(CandidateSpec candidate, const Selection& selection, const Arch& arch);

/// Compiles their candidates into the cache, on every core.
void compile(std::span<Job> jobs, const Arch& arch);

}  // namespace kiln::bench
