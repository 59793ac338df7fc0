// SPDX-License-Identifier: Apache-2.0
// kiln bench: what a forward costs on this GPU, beside what launching and reading the input cost at least.
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kiln/model.hpp>

#include "kiln/bench_times.hpp"
#include "kiln/bench_work.hpp"
#include "kiln/kernel_json.hpp"
#include "kiln/program.hpp"
#include "kiln/random_data.hpp"
#include "kiln/spec_options.hpp"
#include "kiln/specs_file.hpp"
#include "model/planner.hpp"
#include "model/spec_json.hpp"

namespace kiln::tools {
namespace {

struct BenchArguments {
    SpecOptions spec;
    std::string specs_file;
    bool any_shape = false;  ///< leaves `expected` out of the spec
    int device = 0;
    int rounds = 20;
};

/// One spec, measured at one shape.
struct Measurement {
    ModelSpec spec;
    Shape shape;
    KernelReport kernel;
    Candidate planned;
    Work work;
    Floor floor;
    Times times;
};

/// A byte per µs is a megabyte per second.
double terabytes_per_second(double bytes, double us) {
    return us > 0 ? bytes / us * 1e-6 : 0;
}

double share(double least_us, double us) {
    return us > 0 ? least_us / us : 0;
}

nlohmann::ordered_json to_json(const driver::Device& device, const Measurement& measured) {
    const auto& [spec, shape, kernel, planned, work, floor, times] = measured;
    return {{"device", fmt::format("cuda:{}", device.ordinal)},
            {"device_name", device.name},
            {"spec", spec_to_json(spec)},
            {"shape", {{"batch", shape.batch}, {"height", shape.height}, {"width", shape.width}}},
            {"kernel", kernel_to_json(kernel)},
            {"predicted_us", planned.predicted_us},
            {"limiter", planned.limiter},
            {"forward_us", times.forward_us},
            {"fastest_forward_us", times.fastest_forward_us},
            {"empty_us", times.empty_us},
            {"read_us", times.read_us},
            {"share_of_read_bandwidth", share(times.read_us, times.forward_us)},
            {"floor_us", floor.us()},
            {"floors_us", {{"memory", floor.memory_us}, {"products", floor.products_us}, {"activations", floor.activations_us}}},
            {"share_of_product_rate", share(floor.products_us, times.forward_us)},
            {"input_bytes", work.input_bytes},
            {"terabytes_per_second", terabytes_per_second(work.input_bytes, times.forward_us)},
            {"read_terabytes_per_second", terabytes_per_second(work.input_bytes, times.read_us)},
            {"multiply_adds", work.multiply_adds},
            {"direct_multiply_adds", work.direct},
            {"launches_per_graph", times.launches},
            {"input_buffers", times.buffers},
            {"inputs_pass_l2", times.inputs_pass_l2}};
}

std::string to_text(const driver::Device& device, const Measurement& measured) {
    const auto& [spec, shape, kernel, planned, work, floor, times] = measured;
    return table_text({
        {"model", fmt::format("{}, {} images of {}x{}", spec_sentence(spec), shape.batch, shape.height, shape.width)},
        {"device", fmt::format("cuda:{} {}", device.ordinal, device.name)},
        {"kernel", kernel_sentence(kernel)},
        {"forward", fmt::format("{:.2f} us (fastest {:.2f}), {:.3g} multiply-adds of {:.3g} before pixels are summed first",
                                times.forward_us, times.fastest_forward_us, work.multiply_adds, work.direct)},
        {"read only", fmt::format("{:.2f} us for the {:.1f} MB that are needed, {:.2f} TB/s", times.read_us,
                                  work.input_bytes * 1e-6, terabytes_per_second(work.input_bytes, times.read_us))},
        {"share", fmt::format("{:.1f} % of the measured read bandwidth, {:.1f} % of the rate of products",
                              100 * share(times.read_us, times.forward_us), 100 * share(floor.products_us, times.forward_us))},
        {"predicted", fmt::format("{:.1f} us by the planner, limited by {}", planned.predicted_us, planned.limiter)},
        {"empty", fmt::format("{:.2f} us for a kernel that does nothing", times.empty_us)},
    });
}

Measurement measure_spec(const driver::Context& context, const BenchKernels& kernels, ModelSpec spec,
                         const BenchArguments& arguments) {
    const Shape shape = *spec.expected;
    if (shape.batch == 0) throw Error(ErrorCode::invalid_argument, "batch is 0; to be measured it must be at least 1");
    if (arguments.any_shape) spec.expected.reset();
    validate(spec, shape);
    const Arch arch = value_or_throw(driver::arch_of(context.device()));
    const auto weights =
        static_cast<std::uint64_t>(spec.out_channels * spec.in_channels * spec.kernel_size.height * spec.kernel_size.width);
    const std::vector<float> weight = normal_values(weights, 2, 0.1F);
    const std::vector<float> bias = normal_values(spec.bias ? static_cast<std::uint64_t>(spec.out_channels) : 0, 3, 0.1F);
    const Model model(spec, {weight, bias}, {.device = arguments.device, .cache = {}});
    const Work work = work_of(spec, shape);
    return {.spec = spec,
            .shape = shape,
            .kernel = model.kernel(),
            .planned = value_or_throw(choose_plan(spec, arch)).candidate,
            .work = work,
            .floor = floor_of(work, spec.math, arch),
            .times = measure(model, context, kernels, shape, work.input_bytes, arguments.rounds)};
}

std::vector<ModelSpec> specs_of(const BenchArguments& arguments) {
    if (!arguments.specs_file.empty()) {
        if (arguments.spec.given()) throw wrong_usage("--specs and the options of one model exclude each other");
        std::vector<ModelSpec> specs = read_specs(arguments.specs_file);
        for (std::size_t index = 0; index < specs.size(); ++index) {
            if (!specs[index].expected) {
                throw Error(
                    ErrorCode::invalid_argument,
                    fmt::format("{}: spec {}: expected is missing; it is the shape to measure", arguments.specs_file, index));
            }
        }
        return specs;
    }
    const ModelSpec spec = arguments.spec.spec();
    if (!spec.expected) throw wrong_usage("--shape is required");
    validate(spec);
    return {spec};
}

/// Every spec of a file is measured, also where one before it failed; the first failure decides how the program ends.
ExitStatus measure_all(Program& program, const driver::Context& context, const BenchKernels& kernels,
                       const std::vector<ModelSpec>& specs, const BenchArguments& arguments) {
    std::optional<ErrorCode> failure;
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const ModelSpec& spec : specs) {
        try {
            const Measurement measured = measure_spec(context, kernels, spec, arguments);
            if (program.json) {
                all.push_back(to_json(context.device(), measured));
            } else {
                program.out.write(to_text(context.device(), measured) + "\n");
            }
        } catch (const Error& error) {
            if (!failure) failure = error.code();
            tell_error(fmt::format("{}: {}", spec_sentence(spec), error.what()));
            all.push_back(
                {{"spec", spec_to_json(spec)}, {"error", {{"code", to_string(error.code())}, {"message", error.what()}}}});
        }
    }
    if (program.json) program.out.write_json({{"measurements", all}});
    return failure ? exit_status_of(*failure) : ExitStatus::done;
}

ExitStatus run_bench(Program& program, const BenchArguments& arguments) {
    const std::vector<ModelSpec> specs = specs_of(arguments);
    const auto context = value_or_throw(driver::Context::retain(arguments.device));
    const auto kernels = value_or_throw(BenchKernels::build(context));
    if (!arguments.specs_file.empty()) return measure_all(program, context, kernels, specs, arguments);
    const Measurement measured = measure_spec(context, kernels, specs.front(), arguments);
    if (program.json) {
        program.out.write_json(to_json(context.device(), measured));
    } else {
        program.out.write(to_text(context.device(), measured));
    }
    return ExitStatus::done;
}

}  // namespace

void add_bench(Program& program) {
    CLI::App& command =
        program.add_command(program.app, "bench", "time per forward on a GPU, beside what reading the input costs");
    auto arguments = std::make_shared<BenchArguments>();
    arguments->spec.add_to(command, false);
    command
        .add_option(
            "--specs", arguments->specs_file,
            "a JSON array of objects with the fields of ModelSpec, each measured at its `expected`, instead of one model's "
            "options")
        ->type_name("FILE");
    command.add_flag("--any-shape", arguments->any_shape, "build the model without being told the shape that it will be given");
    command.add_option("--device", arguments->device, "which GPU")
        ->type_name("N")
        ->check(CLI::Range(0, std::numeric_limits<int>::max()))
        ->capture_default_str();
    command.add_option("--rounds", arguments->rounds, "measurements, of which the median is told")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    command.callback(
        [&program, arguments] { program.command = [&program, arguments] { return run_bench(program, *arguments); }; });
}

}  // namespace kiln::tools
