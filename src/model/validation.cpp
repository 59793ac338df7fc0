// SPDX-License-Identifier: Apache-2.0
#include "model/validation.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "model/geometry.hpp"

namespace kiln {

namespace {

Result<void> check_range(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value < least || value > most) {
        return fail(ErrorCode::invalid_argument, "{} is {}; it must be from {} to {}", field, value, least, most);
    }
    return {};
}

Result<void> check_range(std::string_view field, Size2 value, std::int64_t least, std::int64_t most) {
    for (const std::int64_t each : {value.height, value.width}) {
        if (each < least || each > most) {
            return fail(ErrorCode::invalid_argument, "{} is {}x{}; each side must be from {} to {}", field, value.height,
                        value.width, least, most);
        }
    }
    return {};
}

Result<void> check_products(const ModelSpec& spec) {
    if (const std::int64_t length = reduction_length(spec); length > SpecLimits::reduction) {
        return fail(ErrorCode::invalid_argument, "in_channels x kernel_size is {} x {}x{} = {}; it must be at most {}",
                    spec.in_channels, spec.kernel_size.height, spec.kernel_size.width, length, SpecLimits::reduction);
    }
    if (const std::int64_t count = reduction_length(spec) * spec.out_channels; count > SpecLimits::weights) {
        return fail(ErrorCode::invalid_argument,
                    "out_channels is {}: with in_channels {} and kernel_size {}x{} that is {} weights; at most {} are allowed",
                    spec.out_channels, spec.in_channels, spec.kernel_size.height, spec.kernel_size.width, count,
                    SpecLimits::weights);
    }
    const Size2 window = window_size(spec);
    if (window.height > SpecLimits::window || window.width > SpecLimits::window) {
        return fail(
            ErrorCode::invalid_argument,
            "pool_kernel_size, stride, kernel_size and dilation make windows of {}x{} pixels; each side must be at most {}",
            window.height, window.width, SpecLimits::window);
    }
    return {};
}

Result<void> check_finite(std::string_view field, std::span<const float> values) {
    for (std::size_t index = 0; index < values.size(); ++index) {
        if (!std::isfinite(values[index])) {
            return fail(ErrorCode::invalid_argument, "{}[{}] is {}; weights must be finite", field, index, values[index]);
        }
    }
    return {};
}

Result<void> check_length(std::string_view field, std::span<const float> values, std::int64_t expected, std::string_view layout) {
    if (values.size() != static_cast<std::size_t>(expected)) {
        return fail(ErrorCode::invalid_argument, "{} has {} values; {} = {} are expected", field, values.size(), layout,
                    expected);
    }
    if (expected > 0 && values.data() == nullptr) return fail(ErrorCode::invalid_argument, "{} is a null pointer", field);
    return {};
}

}  // namespace

Result<void> check_spec(const ModelSpec& spec) {
    for (const auto& [field, value] :
         {std::pair{"in_channels", spec.in_channels}, std::pair{"out_channels", spec.out_channels}}) {
        if (auto checked = check_range(field, value, 1, SpecLimits::channels); !checked) return checked;
    }
    struct Field {
        const char* name;
        Size2 value;
        std::int64_t least, most;
    };
    for (const Field& field :
         {Field{"kernel_size", spec.kernel_size, 1, SpecLimits::kernel},
          Field{"pool_kernel_size", spec.pool_kernel_size, 1, SpecLimits::pool},
          Field{"stride", spec.stride, 1, SpecLimits::stride}, Field{"padding", spec.padding, 0, SpecLimits::padding},
          Field{"dilation", spec.dilation, 1, SpecLimits::dilation}}) {
        if (auto checked = check_range(field.name, field.value, field.least, field.most); !checked) return checked;
    }
    if (spec.activation != Activation::sigmoid && spec.activation != Activation::identity) {
        return fail(ErrorCode::invalid_argument, "activation is {}; it must be sigmoid or identity",
                    static_cast<int>(spec.activation));
    }
    if (spec.math != Math::fp32 && spec.math != Math::tf32) {
        return fail(ErrorCode::invalid_argument, "math is {}; it must be fp32 or tf32", static_cast<int>(spec.math));
    }
    if (auto checked = check_products(spec); !checked) return checked;
    if (spec.expected) {
        if (auto checked = check_shape(spec, *spec.expected); !checked) {
            checked.error().message = "expected: " + checked.error().message;
            return checked;
        }
    }
    return {};
}

Result<void> check_shape(const ModelSpec& spec, const Shape& shape) {
    if (auto checked = check_range("batch", shape.batch, 0, SpecLimits::batch); !checked) return checked;
    if (auto checked = check_range("height", shape.height, 1, SpecLimits::extent); !checked) return checked;
    if (auto checked = check_range("width", shape.width, 1, SpecLimits::extent); !checked) return checked;
    const Size2 convolved = convolved_size(spec, shape);
    if (convolved.height < 1 || convolved.width < 1) {
        return fail(ErrorCode::invalid_argument,
                    "kernel_size is {}x{} (dilation {}x{}): it does not fit an input of {}x{} with padding {}x{}",
                    spec.kernel_size.height, spec.kernel_size.width, spec.dilation.height, spec.dilation.width, shape.height,
                    shape.width, spec.padding.height, spec.padding.width);
    }
    if (convolved.height < spec.pool_kernel_size.height || convolved.width < spec.pool_kernel_size.width) {
        return fail(
            ErrorCode::invalid_argument,
            "pool_kernel_size is {}x{}; for an input of {}x{} it must be at most {}x{}, the size of the convolution's output",
            spec.pool_kernel_size.height, spec.pool_kernel_size.width, shape.height, shape.width, convolved.height,
            convolved.width);
    }
    // Element counts stay within 63 bits, so that byte offsets do too.
    const auto elements = static_cast<long double>(shape.batch) * static_cast<long double>(spec.in_channels) *
                          static_cast<long double>(shape.height) * static_cast<long double>(shape.width);
    if (elements > static_cast<long double>(std::numeric_limits<std::int64_t>::max()) / 8) {
        return fail(ErrorCode::invalid_argument, "batch {} x in_channels {} x height {} x width {} is more than any memory holds",
                    shape.batch, spec.in_channels, shape.height, shape.width);
    }
    return {};
}

Result<void> check_weights(const ModelSpec& spec, const Weights& weights) {
    const std::int64_t count = spec.out_channels * reduction_length(spec);
    if (auto checked = check_length("weight", weights.weight, count, "out_channels x in_channels x kernel_h x kernel_w");
        !checked) {
        return checked;
    }
    if (!spec.bias && !weights.bias.empty()) {
        return fail(ErrorCode::invalid_argument, "bias has {} values; the spec says bias = false, so it must be empty",
                    weights.bias.size());
    }
    if (spec.bias) {
        if (auto checked = check_length("bias", weights.bias, spec.out_channels, "out_channels"); !checked) return checked;
    }
    if (auto checked = check_finite("weight", weights.weight); !checked) return checked;
    return check_finite("bias", weights.bias);
}

}  // namespace kiln
