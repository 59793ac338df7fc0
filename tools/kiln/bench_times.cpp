// SPDX-License-Identifier: Apache-2.0
#include "kiln/bench_times.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "driver/memory.hpp"
#include "driver/stream.hpp"
#include "kiln/random_data.hpp"

namespace kiln::tools {
namespace {

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// One graph of launches, timed by events around it.
class TimedGraph {
public:
    TimedGraph(const driver::Stream& stream, driver::Graph graph, std::size_t launches)
        : stream_(stream),
          graph_(std::move(graph)),
          launches_(static_cast<double>(launches)),
          begin_(value_or_throw(driver::Event::create(stream.context()))),
          end_(value_or_throw(driver::Event::create(stream.context()))) {}

    void run() {
        value_or_throw(begin_.record(stream_.handle()));
        value_or_throw(graph_.launch(stream_.handle()));
        value_or_throw(end_.record(stream_.handle()));
        const float elapsed_ms = value_or_throw(end_.milliseconds_since(begin_));
        times_us_.push_back(static_cast<double>(elapsed_ms) * 1000 / launches_);
    }

    void forget() { times_us_.clear(); }
    [[nodiscard]] const std::vector<double>& times_us() const { return times_us_; }

private:
    const driver::Stream& stream_;
    driver::Graph graph_;
    double launches_;
    driver::Event begin_, end_;
    std::vector<double> times_us_;
};

/// Normal values; a large input repeats a block of 16 MB, because making values takes longer than measuring does.
std::vector<float> image_values(std::uint64_t count) {
    constexpr std::uint64_t block = std::uint64_t{1} << 22;
    std::vector<float> values = normal_values(std::min(count, block), 1);
    values.reserve(count);
    while (values.size() < count) {
        const std::uint64_t more = std::min<std::uint64_t>(values.size(), count - values.size());
        values.insert(values.end(), values.begin(), values.begin() + static_cast<std::ptrdiff_t>(more));
    }
    return values;
}

/// The inputs, as many as it takes for none to be found in the L2 cache when its turn comes again.
std::vector<driver::DeviceMemory> make_inputs(const driver::Context& context, std::uint64_t elements) {
    const std::uint64_t bytes = elements * sizeof(float);
    const auto l2_bytes = static_cast<std::uint64_t>(std::max(context.device().l2_bytes, 1));
    constexpr std::uint64_t most_buffers = 1024;
    const std::uint64_t count = std::clamp<std::uint64_t>((2 * l2_bytes + bytes - 1) / bytes + 1, 2, most_buffers);
    const std::vector<float> values = image_values(elements);
    std::vector<driver::DeviceMemory> inputs;
    for (std::uint64_t index = 0; index < count; ++index) {
        inputs.push_back(value_or_throw(driver::DeviceMemory::allocate(context, bytes)));
        value_or_throw(inputs.back().copy_from_host(std::as_bytes(std::span(values))));
    }
    return inputs;
}

}  // namespace

Times measure(const Model& model, const driver::Context& context, const BenchKernels& kernels, const Shape& shape,
              double input_bytes, int rounds) {
    const auto elements = static_cast<std::uint64_t>(shape.batch * model.spec().in_channels * shape.height * shape.width);
    const auto inputs = make_inputs(context, elements);
    const auto y = value_or_throw(driver::DeviceMemory::allocate(context, static_cast<std::size_t>(shape.batch) * sizeof(float)));
    auto workspace = model.workspace(shape);
    const auto stream = value_or_throw(driver::Stream::create(context));
    const auto guard = value_or_throw(context.enter());
    Times times{.launches = std::max<std::size_t>(20, inputs.size()), .buffers = inputs.size()};
    times.inputs_pass_l2 = inputs.size() * elements * sizeof(float) > static_cast<std::uint64_t>(context.device().l2_bytes);

    const auto graph_of = [&](const auto& launch) {
        auto graph = driver::Graph::capture(stream, [&]() -> Result<void> {
            for (std::size_t index = 0; index < times.launches; ++index) {
                if (auto done = launch(inputs[index % inputs.size()].template pointer<float>()); !done) return done;
            }
            return {};
        });
        return TimedGraph(stream, value_or_throw(std::move(graph)), times.launches);
    };
    TimedGraph forward = graph_of([&](const float* x) -> Result<void> {
        model.forward(x, y.pointer<float>(), shape, stream.handle(), workspace);
        return {};
    });
    const auto bytes = static_cast<std::uint64_t>(input_bytes);
    TimedGraph read =
        graph_of([&](const float* x) { return kernels.launch_read(x, bytes, y.pointer<float>(), stream.handle()); });
    TimedGraph empty = graph_of([&](const float*) { return kernels.launch_empty(stream.handle()); });

    constexpr int warm_up_rounds = 3;
    for (int round = 0; round < warm_up_rounds + rounds; ++round) {
        for (TimedGraph* each : {&forward, &read, &empty}) {
            if (round == warm_up_rounds) each->forget();
            each->run();
        }
    }
    times.forward_us = median(forward.times_us());
    times.fastest_forward_us = *std::min_element(forward.times_us().begin(), forward.times_us().end());
    times.read_us = median(read.times_us());
    times.empty_us = median(empty.times_us());
    return times;
}

}  // namespace kiln::tools
