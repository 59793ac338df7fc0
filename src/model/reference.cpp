// SPDX-License-Identifier: Apache-2.0
#include <kiln/reference.hpp>

#include "model/definition.hpp"
#include "model/validation.hpp"
#include "support/parallel.hpp"

namespace kiln {

namespace {

Result<void> check_input(const ModelSpec& spec, std::span<const float> input, const Shape& shape) {
    const auto expected = static_cast<std::size_t>(shape.batch * spec.in_channels * shape.height * shape.width);
    if (input.size() != expected) {
        return fail(ErrorCode::invalid_argument, "input has {} values; batch x in_channels x height x width = {} are expected",
                    input.size(), expected);
    }
    return {};
}

}  // namespace

std::vector<double> reference(const ModelSpec& spec, const Weights& weights, std::span<const float> input, const Shape& shape) {
    validate(spec, shape);
    value_or_throw(check_weights(spec, weights));
    value_or_throw(check_input(spec, input, shape));

    // Each (image, filter) is summed by one thread in one order, and the filters in order: the bits depend on no thread count.
    const auto filters = static_cast<std::size_t>(spec.out_channels);
    const auto image_length = static_cast<std::size_t>(spec.in_channels * shape.height * shape.width);
    std::vector<double> filter_sums(static_cast<std::size_t>(shape.batch) * filters);
    parallel_for(filter_sums.size(), [&](std::size_t index) {
        const auto image = input.subspan(index / filters * image_length, image_length);
        for (const double logit : pooled_convolution(spec, weights, image, shape, static_cast<std::int64_t>(index % filters))) {
            filter_sums[index] += activate(spec.activation, logit);
        }
    });

    std::vector<double> sums(static_cast<std::size_t>(shape.batch), 0.0);
    for (std::size_t index = 0; index < filter_sums.size(); ++index) sums[index / filters] += filter_sums[index];
    return sums;
}

}  // namespace kiln
