// SPDX-License-Identifier: Apache-2.0
#include "kiln/spec_options.hpp"

#include <algorithm>
#include <charconv>

#include <kiln/error.hpp>

#include "driver/device.hpp"
#include "kiln/exit_status.hpp"
#include "model/spec_json.hpp"
#include "support/result.hpp"

namespace kiln::tools {
namespace {

/// The whole of `text` is one decimal integer, however large.
bool is_integer(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::int64_t to_int64(std::string_view field, std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{}) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{} is {}; it must be an integer of 64 bits", field, digits));
    }
    return value;
}

Arch native_arch() {
    const driver::Device* device = value_or_throw(driver::device(0));
    return value_or_throw(driver::arch_of(*device));
}

}  // namespace

std::int64_t parse_integer(std::string_view option, std::string_view field, std::string_view text) {
    if (!is_integer(text)) throw wrong_usage(fmt::format("{} is '{}'; it must be an integer", option, text));
    return to_int64(field, text);
}

Size2 parse_size2(std::string_view option, std::string_view field, std::string_view text) {
    const auto parts = split(text, 'x');
    if (parts.size() > 2 || !std::all_of(parts.begin(), parts.end(), is_integer)) {
        throw wrong_usage(fmt::format("{} is '{}'; it must be a size such as 3, or HEIGHTxWIDTH such as 3x5", option, text));
    }
    return {to_int64(field, parts.front()), to_int64(field, parts.back())};
}

Shape parse_shape(std::string_view option, std::string_view text) {
    const auto parts = split(text, ',');
    if (parts.size() != 3 || !std::all_of(parts.begin(), parts.end(), is_integer)) {
        throw wrong_usage(fmt::format("{} is '{}'; it must be N,H,W (images, height, width) such as 128,384,384", option, text));
    }
    return {.batch = to_int64("batch", parts[0]), .height = to_int64("height", parts[1]), .width = to_int64("width", parts[2])};
}

void SpecOptions::add_to(CLI::App& command, bool required) {
    const auto add = [&](const char* name, std::string& into, const char* type, const char* description, bool must = false) {
        options_.push_back(command.add_option(name, into, description)->type_name(type)->group("Model")->required(must));
        return options_.back();
    };
    add("--in-channels", in_channels_, "C", "channels of the input", required);
    add("--out-channels", out_channels_, "C", "filters", required);
    add("--kernel", kernel_, "SIZE", "of the convolution: 3, or 3x5 for height x width", required);
    add("--pool", pool_, "SIZE", "of the average pooling, which is also its stride", required);
    add("--stride", stride_, "SIZE", "of the convolution")->capture_default_str();
    add("--padding", padding_, "SIZE", "of the convolution, zeros on each side")->capture_default_str();
    add("--dilation", dilation_, "SIZE", "of the convolution")->capture_default_str();
    options_.push_back(command.add_flag("--no-bias", no_bias_, "the convolution has no bias")->group("Model"));
    add("--activation", activation_, "NAME", "sigmoid or identity")
        ->capture_default_str()
        ->check(CLI::IsMember({"sigmoid", "identity"}));
    add("--math", math_, "NAME", "fp32, or tf32 for one TF32 product")
        ->capture_default_str()
        ->check(CLI::IsMember({"fp32", "tf32"}));
    add("--shape", shape_, "N,H,W", "images, height, width: the input's shape, or what to tune for");
}

bool SpecOptions::given() const {
    return std::any_of(options_.begin(), options_.end(), [](const CLI::Option* option) { return option->count() > 0; });
}

ModelSpec SpecOptions::spec() const {
    for (const auto& [name, value] : {std::pair{"--in-channels", &in_channels_}, std::pair{"--out-channels", &out_channels_},
                                      std::pair{"--kernel", &kernel_}, std::pair{"--pool", &pool_}}) {
        if (value->empty()) throw wrong_usage(fmt::format("{} is required", name));
    }
    ModelSpec spec{.in_channels = parse_integer("--in-channels", "in_channels", in_channels_),
                   .out_channels = parse_integer("--out-channels", "out_channels", out_channels_),
                   .kernel_size = parse_size2("--kernel", "kernel_size", kernel_),
                   .pool_kernel_size = parse_size2("--pool", "pool_kernel_size", pool_),
                   .stride = parse_size2("--stride", "stride", stride_),
                   .padding = parse_size2("--padding", "padding", padding_),
                   .dilation = parse_size2("--dilation", "dilation", dilation_),
                   .bias = !no_bias_};
    spec.activation = activation_named(activation_).value();
    spec.math = math_named(math_).value();
    spec.expected = shape();
    return spec;
}

std::optional<Shape> SpecOptions::shape() const {
    if (shape_.empty()) return std::nullopt;
    return parse_shape("--shape", shape_);
}

void ArchOptions::add_to(CLI::App& command, bool several) {
    auto* option = command.add_option("--arch", names_,
                                      several ? "what to build for: sm_90a,sm_80, or native for the GPU that is present"
                                              : "what to build for: sm_90a, or native for the GPU that is present");
    option->type_name("ARCH")->required()->allow_extra_args(false);
    if (!several) option->expected(1);
    several_ = several;
}

Arch parse_arch(const std::string& name) {
    try {
        return name == "native" ? native_arch() : Arch::parse(name);
    } catch (const Error& error) {
        if (name == "native" || error.code() != ErrorCode::unsupported_arch) throw;
        throw CommandFailure(ExitStatus::wrong_usage, std::string(to_string(error.code())), error.what());
    }
}

std::vector<Arch> ArchOptions::archs() const {
    std::vector<Arch> archs;
    for (const std::string& names : names_) {
        for (const std::string_view name : several_ ? split(names, ',') : std::vector<std::string_view>{names}) {
            const Arch arch = parse_arch(std::string(name));
            if (std::find(archs.begin(), archs.end(), arch) == archs.end()) archs.push_back(arch);
        }
    }
    return archs;
}

}  // namespace kiln::tools
