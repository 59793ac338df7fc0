// SPDX-License-Identifier: Apache-2.0
// kiln bench: what a forward costs on this GPU, beside what launching and reading the input cost at least.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <kiln/model.hpp>

#include "driver/memory.hpp"
#include "driver/stream.hpp"
#include "kiln/bench_kernels.hpp"
#include "kiln/kernel_json.hpp"
#include "kiln/program.hpp"
#include "kiln/random_data.hpp"
#include "kiln/spec_options.hpp"
#include "model/spec_json.hpp"

namespace kiln::tools {
namespace {

struct BenchArguments {
    SpecOptions spec;
    int device = 0;
    int rounds = 20;
};

/// What a forward has to do at least.
struct Work {
    double input_bytes = 0;    ///< of rows that some window uses, each read once
    double multiply_adds = 0;  ///< with the pixels summed before they are multiplied
    double direct = 0;         ///< the same as PyTorch's layers say it
};

Work work_of(const ModelSpec& spec, const Shape& shape) {
    const Size2 pooled = pooled_size(spec, shape);
    const std::int64_t last_row = spec.stride.height * (spec.pool_kernel_size.height * pooled.height - 1) +
                                  spec.dilation.height * (spec.kernel_size.height - 1) - spec.padding.height;
    const std::int64_t rows = std::clamp<std::int64_t>(last_row + 1, 1, shape.height);
    const auto product = [](std::initializer_list<std::int64_t> sizes) {
        double result = 1;
        for (const std::int64_t size : sizes) result *= static_cast<double>(size);
        return result;
    };
    Work work;
    work.input_bytes = product({shape.batch, spec.in_channels, rows, shape.width, 4});
    work.multiply_adds = product({shape.batch, pooled.height, pooled.width, spec.out_channels, spec.in_channels,
                                  spec.kernel_size.height, spec.kernel_size.width});
    work.direct = work.multiply_adds * product({spec.pool_kernel_size.height, spec.pool_kernel_size.width});
    return work;
}

/// Microseconds per launch, medians over the rounds.
struct Times {
    double forward_us = 0;
    double fastest_forward_us = 0;
    double read_us = 0;
    double empty_us = 0;
    std::size_t launches = 0;  ///< in one graph
    std::size_t buffers = 0;   ///< that they rotate over
};

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

/// The inputs, as many as it takes for none to be found in the L2 cache when its turn comes again.
std::vector<driver::DeviceMemory> make_inputs(const driver::Context& context, const ModelSpec& spec, const Shape& shape) {
    const auto elements = static_cast<std::uint64_t>(shape.batch * spec.in_channels * shape.height * shape.width);
    const std::uint64_t bytes = elements * sizeof(float);
    const auto l2_bytes = static_cast<std::uint64_t>(std::max(context.device().l2_bytes, 1));
    constexpr std::uint64_t most_buffers = 256;
    const std::uint64_t count = std::clamp<std::uint64_t>((2 * l2_bytes + bytes - 1) / bytes + 1, 2, most_buffers);
    const std::vector<float> values = normal_values(elements, 1);
    std::vector<driver::DeviceMemory> inputs;
    for (std::uint64_t index = 0; index < count; ++index) {
        inputs.push_back(value_or_throw(driver::DeviceMemory::allocate(context, bytes)));
        value_or_throw(inputs.back().copy_from_host(std::as_bytes(std::span(values))));
    }
    return inputs;
}

Times measure(const Model& model, const driver::Context& context, const Shape& shape, const Work& work, int rounds) {
    const auto kernels = value_or_throw(BenchKernels::build(context));
    const auto inputs = make_inputs(context, model.spec(), shape);
    const auto y = value_or_throw(driver::DeviceMemory::allocate(context, static_cast<std::size_t>(shape.batch) * sizeof(float)));
    auto workspace = model.workspace(shape);
    const auto stream = value_or_throw(driver::Stream::create(context));
    const auto guard = value_or_throw(context.enter());
    Times times{.launches = std::max<std::size_t>(20, inputs.size()), .buffers = inputs.size()};

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
    const auto bytes = static_cast<std::uint64_t>(work.input_bytes);
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

/// bytes / µs = MB/s · 10⁻⁶ · 10⁶: terabytes per second are bytes per µs · 10⁻⁶.
double terabytes_per_second(double bytes, double us) {
    return us > 0 ? bytes / us * 1e-6 : 0;
}

void print_json(Program& program, const driver::Device& device, const Model& model, const Shape& shape, const Work& work,
                const Times& times) {
    program.out.write_json({{"device", fmt::format("cuda:{}", device.ordinal)},
                            {"device_name", device.name},
                            {"spec", spec_to_json(model.spec())},
                            {"shape", {{"batch", shape.batch}, {"height", shape.height}, {"width", shape.width}}},
                            {"kernel", kernel_to_json(model.kernel())},
                            {"forward_us", times.forward_us},
                            {"fastest_forward_us", times.fastest_forward_us},
                            {"empty_us", times.empty_us},
                            {"read_us", times.read_us},
                            {"share_of_read_bandwidth", times.forward_us > 0 ? times.read_us / times.forward_us : 0},
                            {"input_bytes", work.input_bytes},
                            {"terabytes_per_second", terabytes_per_second(work.input_bytes, times.forward_us)},
                            {"read_terabytes_per_second", terabytes_per_second(work.input_bytes, times.read_us)},
                            {"multiply_adds", work.multiply_adds},
                            {"direct_multiply_adds", work.direct},
                            {"launches_per_graph", times.launches},
                            {"input_buffers", times.buffers}});
}

void print_text(Program& program, const driver::Device& device, const Model& model, const Shape& shape, const Work& work,
                const Times& times) {
    std::vector<std::vector<std::string>> rows{
        {"model", fmt::format("{}, {} images of {}x{}", spec_sentence(model.spec()), shape.batch, shape.height, shape.width)},
        {"device", fmt::format("cuda:{} {}", device.ordinal, device.name)},
        {"kernel", kernel_sentence(model.kernel())},
        {"forward", fmt::format("{:.2f} us (fastest {:.2f}), {:.3g} multiply-adds of {:.3g} before pixels are summed first",
                                times.forward_us, times.fastest_forward_us, work.multiply_adds, work.direct)},
        {"read only", fmt::format("{:.2f} us for the {:.1f} MB that are needed, {:.2f} TB/s", times.read_us,
                                  work.input_bytes * 1e-6, terabytes_per_second(work.input_bytes, times.read_us))},
        {"share", fmt::format("{:.1f} % of the measured read bandwidth",
                              times.forward_us > 0 ? 100 * times.read_us / times.forward_us : 0)},
        {"empty", fmt::format("{:.2f} us for a kernel that does nothing", times.empty_us)},
    };
    program.out.write(table_text(rows));
}

ExitStatus run_bench(Program& program, const BenchArguments& arguments) {
    const ModelSpec spec = arguments.spec.spec();
    if (!spec.expected) throw wrong_usage("--shape is required");
    const Shape shape = *spec.expected;
    validate(spec);
    if (shape.batch == 0) throw Error(ErrorCode::invalid_argument, "batch is 0; to be measured it must be at least 1");
    const auto context = value_or_throw(driver::Context::retain(arguments.device));
    const auto weights =
        static_cast<std::uint64_t>(spec.out_channels * spec.in_channels * spec.kernel_size.height * spec.kernel_size.width);
    const std::vector<float> weight = normal_values(weights, 2, 0.1F);
    const std::vector<float> bias = normal_values(spec.bias ? static_cast<std::uint64_t>(spec.out_channels) : 0, 3, 0.1F);
    const Model model(spec, {weight, bias}, {.device = arguments.device, .cache = {}});
    const Work work = work_of(spec, shape);
    const Times times = measure(model, context, shape, work, arguments.rounds);
    (program.json ? print_json : print_text)(program, context.device(), model, shape, work, times);
    return ExitStatus::done;
}

}  // namespace

void add_bench(Program& program) {
    CLI::App& command =
        program.add_command(program.app, "bench", "time per forward on a GPU, beside what reading the input costs");
    auto arguments = std::make_shared<BenchArguments>();
    arguments->spec.add_to(command);
    command.add_option("--device", arguments->device, "which GPU")
        ->type_name("N")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command.add_option("--rounds", arguments->rounds, "measurements, of which the median is told")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    command.callback(
        [&program, arguments] { program.command = [&program, arguments] { return run_bench(program, *arguments); }; });
}

}  // namespace kiln::tools
