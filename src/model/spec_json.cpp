// SPDX-License-Identifier: Apache-2.0
#include "model/spec_json.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "support/json.hpp"

namespace kiln {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, Activation>, 2> activations{
    {{"sigmoid", Activation::sigmoid}, {"identity", Activation::identity}}};
constexpr std::array<std::pair<std::string_view, Math>, 2> maths{{{"fp32", Math::fp32}, {"tf32", Math::tf32}}};

constexpr std::array<std::string_view, 11> spec_fields{"in_channels", "out_channels", "kernel_size", "pool_kernel_size",
                                                       "stride",      "padding",      "dilation",    "bias",
                                                       "activation",  "math",         "expected"};
constexpr std::array<std::string_view, 3> shape_fields{"batch", "height", "width"};

template <typename Table, typename Value>
std::string_view name_in(const Table& table, Value value) noexcept {
    for (const auto& [name, each] : table) {
        if (each == value) return name;
    }
    return "invalid";
}

template <typename Value, typename Table>
std::optional<Value> value_in(const Table& table, std::string_view name) noexcept {
    for (const auto& [each, value] : table) {
        if (each == name) return value;
    }
    return std::nullopt;
}

ordered_json size_to_json(const Size2& size) {
    if (size.height == size.width) return size.height;
    return ordered_json::array({size.height, size.width});
}

/// Reads the fields of one object and keeps the first failure, so that a reader is a list of fields.
class FieldReader {
public:
    FieldReader(const json& object, std::string_view where, std::span<const std::string_view> allowed)
        : object_(object), where_(where) {
        if (!object.is_object()) {
            refuse("is {}; an object is allowed", excerpt(object));
            return;
        }
        for (const auto& [name, value] : object.items()) {
            if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
                refuse("has an unknown field {} = {}; allowed are {}", excerpt(name), excerpt(value), fmt::join(allowed, ", "));
                return;
            }
        }
    }

    void integer(std::string_view name, std::int64_t& into, bool required = false) {
        if (const json* value = find(name, required)) read_integer(name, *value, into);
    }

    void size(std::string_view name, Size2& into, bool required = false) {
        const json* value = find(name, required);
        if (value == nullptr) return;
        if (value->is_array() && value->size() == 2) {
            read_integer(name, (*value)[0], into.height);
            read_integer(name, (*value)[1], into.width);
        } else if (value->is_number()) {
            std::int64_t both = 0;
            read_integer(name, *value, both);
            into = both;
        } else {
            refuse_value(name, *value, "an integer or [height, width]");
        }
    }

    void boolean(std::string_view name, bool& into) {
        const json* value = find(name, false);
        if (value == nullptr) return;
        if (!value->is_boolean()) return refuse_value(name, *value, "true or false");
        into = value->get<bool>();
    }

    template <typename Value, std::size_t N>
    void choice(std::string_view name, const std::array<std::pair<std::string_view, Value>, N>& table, Value& into) {
        const json* value = find(name, false);
        if (value == nullptr) return;
        const auto named = value->is_string() ? value_in<Value>(table, value->get_ref<const std::string&>()) : std::nullopt;
        if (named) {
            into = *named;
            return;
        }
        std::string allowed;
        for (const auto& [each, unused] : table) allowed += fmt::format("{}\"{}\"", allowed.empty() ? "" : " or ", each);
        refuse_value(name, *value, allowed);
    }

    void shape(std::string_view name, std::optional<Shape>& into) {
        const json* value = find(name, false);
        if (value == nullptr || value->is_null()) return;
        FieldReader fields(*value, fmt::format("{}: field '{}'", where_, name), shape_fields);
        Shape shape;
        fields.integer("batch", shape.batch, true);
        fields.integer("height", shape.height, true);
        fields.integer("width", shape.width, true);
        if (fields.failure_ && !failure_) failure_ = std::move(fields.failure_);
        into = shape;
    }

    [[nodiscard]] std::optional<Failure> take_failure() { return std::move(failure_); }

private:
    const json* find(std::string_view name, bool required) {
        if (failure_) return nullptr;
        const auto found = object_.find(name);
        if (found != object_.end()) return &*found;
        if (required) refuse("has no field '{}', which is required", name);
        return nullptr;
    }

    void read_integer(std::string_view name, const json& value, std::int64_t& into) {
        const bool too_large = value.is_number_unsigned() &&
                               value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (!value.is_number_integer() || too_large) return refuse_value(name, value, "an integer of 64 bits");
        into = value.get<std::int64_t>();
    }

    void refuse_value(std::string_view name, const json& value, std::string_view allowed) {
        refuse("has field '{}' = {}; allowed is {}", name, excerpt(value), allowed);
    }

    template <typename... Args>
    void refuse(fmt::format_string<Args...> format, Args&&... args) {
        if (failure_) return;
        failure_ =
            Failure{ErrorCode::invalid_argument, fmt::format("{} {}", where_, fmt::format(format, std::forward<Args>(args)...))};
    }

    const json& object_;
    std::string where_;
    std::optional<Failure> failure_;
};

}  // namespace

std::string_view name_of(Activation activation) noexcept {
    return name_in(activations, activation);
}
std::string_view name_of(Math math) noexcept {
    return name_in(maths, math);
}
std::optional<Activation> activation_named(std::string_view name) noexcept {
    return value_in<Activation>(activations, name);
}
std::optional<Math> math_named(std::string_view name) noexcept {
    return value_in<Math>(maths, name);
}

ordered_json spec_to_json(const ModelSpec& spec) {
    ordered_json object{{"in_channels", spec.in_channels},
                        {"out_channels", spec.out_channels},
                        {"kernel_size", size_to_json(spec.kernel_size)},
                        {"pool_kernel_size", size_to_json(spec.pool_kernel_size)},
                        {"stride", size_to_json(spec.stride)},
                        {"padding", size_to_json(spec.padding)},
                        {"dilation", size_to_json(spec.dilation)},
                        {"bias", spec.bias},
                        {"activation", name_of(spec.activation)},
                        {"math", name_of(spec.math)}};
    if (spec.expected) {
        object["expected"] = {
            {"batch", spec.expected->batch}, {"height", spec.expected->height}, {"width", spec.expected->width}};
    }
    return object;
}

std::string to_json_text(const ModelSpec& spec) {
    ModelSpec computed = spec;
    computed.expected.reset();
    return spec_to_json(computed).dump();
}

Result<ModelSpec> spec_from_json(const json& object, std::string_view where) {
    FieldReader fields(object, where, spec_fields);
    ModelSpec spec;
    fields.integer("in_channels", spec.in_channels, true);
    fields.integer("out_channels", spec.out_channels, true);
    fields.size("kernel_size", spec.kernel_size, true);
    fields.size("pool_kernel_size", spec.pool_kernel_size, true);
    fields.size("stride", spec.stride);
    fields.size("padding", spec.padding);
    fields.size("dilation", spec.dilation);
    fields.boolean("bias", spec.bias);
    fields.choice("activation", activations, spec.activation);
    fields.choice("math", maths, spec.math);
    fields.shape("expected", spec.expected);
    if (auto failure = fields.take_failure()) return tl::unexpected(std::move(*failure));
    return spec;
}

Result<ModelSpec> spec_from_json_text(std::string_view text, std::string_view where) {
    auto object = parse_json(text, where);
    if (!object) return pass_on(object);
    return spec_from_json(*object, where);
}

Result<std::vector<ModelSpec>> specs_from_json_text(std::string_view text, std::string_view where) {
    auto array = parse_json(text, where);
    if (!array) return pass_on(array);
    if (!array->is_array()) {
        return fail(ErrorCode::invalid_argument, "{} is {}; an array of specs is allowed", where, excerpt(*array));
    }
    std::vector<ModelSpec> specs;
    for (const json& object : *array) {
        auto spec = spec_from_json(object, fmt::format("{}: spec {}", where, specs.size()));
        if (!spec) return pass_on(spec);
        specs.push_back(*spec);
    }
    return specs;
}

}  // namespace kiln
