// SPDX-License-Identifier: Apache-2.0
// kiln run: a model on real files.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kiln/model.hpp>
#include <kiln/reference.hpp>

#include "driver/context.hpp"
#include "driver/memory.hpp"
#include "kiln/kernel_json.hpp"
#include "kiln/program.hpp"
#include "kiln/random_data.hpp"
#include "kiln/rewrite.hpp"
#include "kiln/spec_options.hpp"
#include "kiln/sum_check.hpp"
#include "model/definition.hpp"
#include "model/validation.hpp"
#include "tensor/tensor_file.hpp"

namespace kiln::tools {
namespace {

struct RunArguments {
    SpecOptions spec;
    std::string weights_file, bias_file, input_file, output_file;
    std::string device = "auto";
    bool check = false;
};

/// A model and images, all in host memory and all checked.
struct Job {
    ModelSpec spec;
    WeightTensors weights;
    Tensor input;
    Shape shape;

    [[nodiscard]] Weights parameters() const {
        return {weights.weight.values, weights.bias ? std::span<const float>(weights.bias->values) : std::span<const float>()};
    }
};

struct Sums {
    std::string device;
    std::vector<double> values;
    std::optional<KernelReport> kernel;
};

[[noreturn]] void refuse_shape(const std::string& file, const std::string& what, const Tensor& found,
                               const std::string& allowed) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: the {} has shape {}; the model needs {}", file, what, to_string(found.shape), allowed));
}

void check_weight_shapes(const RunArguments& arguments, const Job& job) {
    const ModelSpec& spec = job.spec;
    const std::vector<std::int64_t> weight{spec.out_channels, spec.in_channels, spec.kernel_size.height, spec.kernel_size.width};
    if (job.weights.weight.shape != weight) refuse_shape(arguments.weights_file, "weight", job.weights.weight, to_string(weight));
    const std::string& bias_file = arguments.bias_file.empty() ? arguments.weights_file : arguments.bias_file;
    if (job.weights.bias && !spec.bias) {
        throw Error(ErrorCode::bad_file, fmt::format("{}: holds a bias, and --no-bias says that the model has none", bias_file));
    }
    if (!job.weights.bias && spec.bias) {
        throw Error(
            ErrorCode::bad_file,
            fmt::format("{}: holds no bias, and the model has one: name its file with --bias, or say --no-bias", bias_file));
    }
    const std::vector<std::int64_t> bias{spec.out_channels};
    if (job.weights.bias && job.weights.bias->shape != bias) refuse_shape(bias_file, "bias", *job.weights.bias, to_string(bias));
}

Tensor input_of(const RunArguments& arguments, const ModelSpec& spec) {
    if (!arguments.input_file.empty()) {
        Tensor input = value_or_throw(read_tensor_file(arguments.input_file));
        if (input.shape.size() != 4 || input.shape[1] != spec.in_channels) {
            refuse_shape(arguments.input_file, "input", input, fmt::format("[images, {}, height, width]", spec.in_channels));
        }
        return input;
    }
    if (!spec.expected) throw wrong_usage("--input is required, or --shape N,H,W for random images");
    tell("no --input: the images are random");
    const Shape& shape = *spec.expected;
    Tensor input{.shape = {shape.batch, spec.in_channels, shape.height, shape.width}, .values = {}};
    input.values = normal_values(element_count(input.shape).value(), 1);
    return input;
}

Job read_job(const RunArguments& arguments) {
    Job job{.spec = arguments.spec.spec(), .weights = {}, .input = {}, .shape = {}};
    validate(job.spec);
    job.weights = value_or_throw(read_weights_file(arguments.weights_file));
    if (!arguments.bias_file.empty()) job.weights.bias = value_or_throw(read_tensor_file(arguments.bias_file));
    check_weight_shapes(arguments, job);
    job.input = input_of(arguments, job.spec);
    job.shape = {.batch = job.input.shape[0], .height = job.input.shape[2], .width = job.input.shape[3]};
    validate(job.spec, job.shape);
    value_or_throw(check_weights(job.spec, job.parameters()));
    return job;
}

/// The ordinal of a GPU, or nothing for the CPU.
std::optional<int> device_of(const std::string& name) {
    if (name == "cpu") return std::nullopt;
    if (name == "auto") {
        const auto found = driver::device(0);
        if (found) return 0;
        const ErrorCode code = found.error().code;
        if (code != ErrorCode::no_driver && code != ErrorCode::no_device) throw_error(found.error());
        tell(fmt::format("no GPU ({}): the reference on the CPU is run", found.error().message));
        return std::nullopt;
    }
    if (name == "cuda") return 0;
    constexpr std::string_view prefix = "cuda:";
    if (!name.starts_with(prefix)) throw wrong_usage(fmt::format("--device is '{}'; it must be auto, cpu or cuda:N", name));
    const std::int64_t ordinal = parse_integer("--device cuda:N", "N", name.substr(prefix.size()));
    if (ordinal < 0 || ordinal > 1'000'000)
        throw wrong_usage(fmt::format("--device is '{}'; N must be the number of a GPU", name));
    return static_cast<int>(ordinal);
}

Sums run_on_cpu(const Job& job) {
    return {.device = "cpu", .values = reference(job.spec, job.parameters(), job.input.values, job.shape), .kernel = {}};
}

Sums run_on_gpu(const Job& job, int ordinal) {
    const Model model(job.spec, job.parameters(), {.device = ordinal, .cache = {}});
    const auto context = value_or_throw(driver::Context::retain(ordinal));
    const auto images = static_cast<std::size_t>(job.shape.batch);
    std::vector<float> sums(images);
    if (images > 0) {
        auto x = value_or_throw(driver::DeviceMemory::allocate(context, job.input.values.size() * sizeof(float)));
        auto y = value_or_throw(driver::DeviceMemory::allocate(context, images * sizeof(float)));
        value_or_throw(x.copy_from_host(std::as_bytes(std::span(job.input.values))));
        value_or_throw(y.fill_bytes(0xFF));  // NaN, should the kernel leave one out
        model.forward(x.pointer<float>(), y.pointer<float>(), job.shape);
        value_or_throw(context.synchronize());
        value_or_throw(y.copy_to_host(std::as_writable_bytes(std::span(sums))));
    }
    return {.device = fmt::format("cuda:{}", ordinal), .values = {sums.begin(), sums.end()}, .kernel = model.kernel()};
}

SumCheck check(const Job& job, const Sums& sums) {
    const bool on_gpu = sums.kernel.has_value();
    return check_sums(sums.values, on_gpu ? bounded_reference(job.spec, job.parameters(), job.input.values, job.shape)
                                          : rewritten_sums(job.spec, job.parameters(), job.input.values, job.shape));
}

std::string failed_check_message(const Sums& sums, const SumCheck& check) {
    return fmt::format("the check failed: the sum of image {} is {} and off by {:.3g} times what is allowed",
                       check.first_failed.value_or(0), sums.values[check.first_failed.value_or(0)], check.max_share_of_tolerance);
}

void print_json(Program& program, const Job& job, const Sums& sums, const std::optional<SumCheck>& check) {
    nlohmann::ordered_json document{
        {"device", sums.device}, {"images", job.shape.batch}, {"sums", sums.values}, {"kernel", nullptr}, {"check", nullptr}};
    if (sums.kernel) document["kernel"] = kernel_to_json(*sums.kernel);
    if (check) {
        document["check"] = {{"passed", check->passed},
                             {"max_relative_error", check->max_relative_error},
                             {"max_share_of_tolerance", check->max_share_of_tolerance},
                             {"compared_with", sums.kernel ? "reference" : "linear rewrite in double"}};
        if (!check->passed) document["error"] = {{"code", "check_failed"}, {"message", failed_check_message(sums, *check)}};
    }
    program.out.write_json(document);
}

void print_text(Program& program, const Job& job, const Sums& sums, const std::optional<SumCheck>& check) {
    constexpr std::size_t most_sums = 8;
    program.out.write_line(fmt::format("model   {}", spec_sentence(job.spec)));
    program.out.write_line(fmt::format("device  {}", sums.device));
    if (sums.kernel) program.out.write_line(fmt::format("kernel  {}", kernel_sentence(*sums.kernel)));
    program.out.write_line(
        fmt::format("images  {} of {}x{}x{}", job.shape.batch, job.spec.in_channels, job.shape.height, job.shape.width));
    if (!sums.values.empty()) {
        const std::size_t shown = std::min(sums.values.size(), most_sums);
        program.out.write_line(fmt::format(
            "sums    {:.7g}{}", fmt::join(sums.values.begin(), sums.values.begin() + static_cast<std::ptrdiff_t>(shown), "  "),
            shown < sums.values.size() ? "  …" : ""));
        const auto [least, most] = std::minmax_element(sums.values.begin(), sums.values.end());
        program.out.write_line(fmt::format("range   {:.7g} to {:.7g}", *least, *most));
    }
    if (check) {
        program.out.write_line(fmt::format("check   {} against {}: largest relative error {:.3g}, {:.3g} of what is allowed",
                                           check->passed ? "passed" : "FAILED",
                                           sums.kernel ? "the reference" : "the linear rewrite", check->max_relative_error,
                                           check->max_share_of_tolerance));
    }
}

void write_output(const std::string& file, const Sums& sums) {
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(sums.values.size())};
    std::vector<float> values(sums.values.size());
    std::transform(sums.values.begin(), sums.values.end(), values.begin(),
                   [](double value) { return static_cast<float>(value); });
    value_or_throw(write_tensor_file(file, shape, values));
}

ExitStatus run_model(Program& program, const RunArguments& arguments) {
    const auto device = device_of(arguments.device);
    if (!arguments.output_file.empty()) value_or_throw(check_tensor_name(arguments.output_file));
    const Job job = read_job(arguments);
    const Sums sums = device ? run_on_gpu(job, *device) : run_on_cpu(job);
    if (!arguments.output_file.empty()) write_output(arguments.output_file, sums);
    std::optional<SumCheck> checked;
    if (arguments.check) checked = check(job, sums);
    if (program.json) {
        print_json(program, job, sums, checked);
    } else {
        print_text(program, job, sums, checked);
    }
    if (!checked || checked->passed) return ExitStatus::done;
    tell_error(failed_check_message(sums, *checked));
    return ExitStatus::check_failed;
}

}  // namespace

void add_run(Program& program) {
    CLI::App& command = program.add_command(program.app, "run", "run a model on real files");
    auto arguments = std::make_shared<RunArguments>();
    arguments->spec.add_to(command);
    command
        .add_option("--weights", arguments->weights_file,
                    ".safetensors with weight and bias (or conv.weight, conv.bias), or .npy with the weight")
        ->type_name("FILE")
        ->required();
    command.add_option("--bias", arguments->bias_file, "the bias, where it is in a file of its own")->type_name("FILE");
    command
        .add_option("--input", arguments->input_file,
                    "the images [N, C, H, W], .npy or .safetensors; random ones of --shape without it")
        ->type_name("FILE");
    command.add_option("--output", arguments->output_file, "where the sums [N] go, .npy or .safetensors")->type_name("FILE");
    command.add_option("--device", arguments->device, "auto, cpu (the reference) or cuda:N")
        ->type_name("DEVICE")
        ->capture_default_str();
    command.add_flag("--check", arguments->check,
                     "compare each sum: on a GPU with the reference, within the documented bound; on the CPU the reference with "
                     "another way to compute it");
    command.callback(
        [&program, arguments] { program.command = [&program, arguments] { return run_model(program, *arguments); }; });
}

}  // namespace kiln::tools
