// SPDX-License-Identifier: Apache-2.0
#include "timed_plan.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/random_data.hpp"
#include "model/geometry.hpp"
#include "model/model_state.hpp"

namespace kiln::bench {

namespace {

constexpr double graph_us = 2000;  ///< what one launch of a graph should take
constexpr std::size_t fewest_launches = 6, most_launches = 256;

std::uint64_t elements_of(const CandidateSpec& candidate) {
    const Shape& shape = candidate.shape();
    return static_cast<std::uint64_t>(shape.batch * candidate.spec.in_channels * shape.height * shape.width);
}

float weight_deviation(const ModelSpec& spec) {
    const auto pool = static_cast<double>(spec.pool_kernel_size.height * spec.pool_kernel_size.width);
    return static_cast<float>(2 * std::sqrt(pool / static_cast<double>(reduction_length(spec))));
}

}  // namespace

BenchData::BenchData(const driver::Context& context, const CandidateSpec& candidate)
    : context_(context),
      candidate_(candidate),
      weight_(tools::normal_values(static_cast<std::uint64_t>(candidate.spec.out_channels * reduction_length(candidate.spec)), 2,
                                   weight_deviation(candidate.spec))),
      bias_(tools::normal_values(candidate.spec.bias ? static_cast<std::uint64_t>(candidate.spec.out_channels) : 0, 3)) {
    const std::uint64_t elements = elements_of(candidate), bytes = elements * sizeof(float);
    const auto l2_bytes = static_cast<std::uint64_t>(std::max(context.device().l2_bytes, 1));
    const std::uint64_t count = std::clamp<std::uint64_t>((2 * l2_bytes + bytes - 1) / bytes + 1, 2, most_launches);
    const std::vector<float> values = tools::normal_values(elements, 1);
    for (std::uint64_t index = 0; index < count; ++index) {
        inputs_.push_back(value_or_throw(driver::DeviceMemory::allocate(context, bytes)));
        value_or_throw(inputs_.back().copy_from_host(std::as_bytes(std::span(values))));
    }
}

TimedPlan::TimedPlan(const BenchData& data, const Plan& plan)
    : data_(data),
      model_(ModelAccess::with_plan(data.candidate().spec, data.weights(), plan)),
      stream_(value_or_throw(driver::Stream::create(data.context()))),
      y_(value_or_throw(driver::DeviceMemory::allocate(
          data.context(), static_cast<std::size_t>(data.candidate().shape().batch) * sizeof(float)))),
      workspace_(model_.workspace(data.candidate().shape())),
      begin_(value_or_throw(driver::Event::create(data.context()))),
      end_(value_or_throw(driver::Event::create(data.context()))) {
    const driver::Graph few = capture(2);
    const double first_us = std::min(timed_us(few, 2), timed_us(few, 2));
    sums_.resize(static_cast<std::size_t>(data.candidate().shape().batch));
    value_or_throw(y_.copy_to_host(std::as_writable_bytes(std::span(sums_))));
    launches_ = std::clamp(static_cast<std::size_t>(graph_us / std::max(first_us, 1.0)), fewest_launches, most_launches);
    graph_ = std::make_unique<driver::Graph>(capture(launches_));
}

driver::Graph TimedPlan::capture(std::size_t launches) {
    const auto guard = value_or_throw(data_.context().enter());
    return value_or_throw(driver::Graph::capture(stream_, [&]() -> Result<void> {
        for (std::size_t index = 0; index < launches; ++index) {
            const float* x = data_.inputs()[index % data_.inputs().size()].pointer<float>();
            model_.forward(x, y_.pointer<float>(), data_.candidate().shape(), stream_.handle(), workspace_);
        }
        return {};
    }));
}

double TimedPlan::timed_us(const driver::Graph& graph, std::size_t launches) const {
    const auto guard = value_or_throw(data_.context().enter());
    value_or_throw(begin_.record(stream_.handle()));
    value_or_throw(graph.launch(stream_.handle()));
    value_or_throw(end_.record(stream_.handle()));
    return static_cast<double>(value_or_throw(end_.milliseconds_since(begin_))) * 1000 / static_cast<double>(launches);
}

void TimedPlan::run() {
    times_us_.push_back(timed_us(*graph_, launches_));
}

double TimedPlan::median_us() const {
    std::vector<double> times(times_us_.begin() + (times_us_.size() > 1 ? 1 : 0), times_us_.end());
    if (times.empty()) return 0;
    std::sort(times.begin(), times.end());
    const std::size_t middle = times.size() / 2;
    return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

}  // namespace kiln::bench
