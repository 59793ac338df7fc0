// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <kiln/model.hpp>

#include "candidate_specs.hpp"
#include "driver/memory.hpp"
#include "driver/stream.hpp"
#include "model/planner.hpp"

namespace kiln::bench {

/// Weights, and as many inputs as it takes for none to be found in the L2 cache when its turn comes again. Logits have a
/// deviation of 2, so that a sum of sigmoids shows what a kernel gets wrong.
class BenchData {
public:
    BenchData(const driver::Context& context, const CandidateSpec& candidate);

    [[nodiscard]] const driver::Context& context() const { return context_; }
    [[nodiscard]] const CandidateSpec& candidate() const { return candidate_; }
    [[nodiscard]] Weights weights() const { return {weight_, bias_}; }
    [[nodiscard]] const std::vector<driver::DeviceMemory>& inputs() const { return inputs_; }

private:
    const driver::Context& context_;
    const CandidateSpec& candidate_;
    std::vector<float> weight_, bias_;
    std::vector<driver::DeviceMemory> inputs_;
};

/// A model of one plan and a graph of its launches. The data must outlive it.
class TimedPlan {
public:
    TimedPlan(const BenchData& data, const Plan& plan);

    /// One launch of the graph; its time per forward is added to `times_us`.
    void run();
    [[nodiscard]] double median_us() const;  ///< of all rounds but the first
    [[nodiscard]] const std::vector<float>& sums() const { return sums_; }
    [[nodiscard]] KernelReport report() const { return model_.kernel(); }
    [[nodiscard]] std::size_t rounds() const { return times_us_.size(); }

private:
    [[nodiscard]] double timed_us(const driver::Graph& graph, std::size_t launches) const;
    [[nodiscard]] driver::Graph capture(std::size_t launches);

    const BenchData& data_;
    Model model_;
    driver::Stream stream_;
    driver::DeviceMemory y_;
    Workspace workspace_;
    driver::Event begin_, end_;
    std::size_t launches_ = 1;
    std::unique_ptr<driver::Graph> graph_;
    std::vector<float> sums_;
    std::vector<double> times_us_;
};

}  // namespace kiln::bench
