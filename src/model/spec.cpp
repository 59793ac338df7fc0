// SPDX-License-Identifier: Apache-2.0
#include <kiln/spec.hpp>

#include "model/geometry.hpp"
#include "model/validation.hpp"

namespace kiln {

void validate(const ModelSpec& spec) {
    value_or_throw(check_spec(spec));
}

void validate(const ModelSpec& spec, const Shape& shape) {
    validate(spec);
    value_or_throw(check_shape(spec, shape));
}

Size2 pooled_size(const ModelSpec& spec, const Shape& shape) {
    validate(spec, shape);
    return pooled_size_unchecked(spec, shape);
}

}  // namespace kiln
