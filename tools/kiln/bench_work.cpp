// SPDX-License-Identifier: Apache-2.0
#include "kiln/bench_work.hpp"

#include <algorithm>
#include <initializer_list>

#include "model/rates.hpp"

namespace kiln::tools {
namespace {

double product(std::initializer_list<std::int64_t> sizes) {
    double result = 1;
    for (const std::int64_t size : sizes) result *= static_cast<double>(size);
    return result;
}

}  // namespace

Work work_of(const ModelSpec& spec, const Shape& shape) {
    const Size2 pooled = pooled_size(spec, shape);
    const std::int64_t last_row = spec.stride.height * (spec.pool_kernel_size.height * pooled.height - 1) +
                                  spec.dilation.height * (spec.kernel_size.height - 1) - spec.padding.height;
    const std::int64_t rows = std::clamp<std::int64_t>(last_row + 1, 1, shape.height);
    const double logits = product({shape.batch, pooled.height, pooled.width, spec.out_channels});
    Work work;
    work.input_bytes = product({shape.batch, spec.in_channels, rows, shape.width, 4});
    work.multiply_adds = logits * product({spec.in_channels, spec.kernel_size.height, spec.kernel_size.width});
    work.direct = work.multiply_adds * product({spec.pool_kernel_size.height, spec.pool_kernel_size.width});
    work.activations = spec.activation == Activation::sigmoid ? logits : 0;
    return work;
}

double Floor::us() const {
    return std::max({memory_us, products_us, activations_us});
}

Floor floor_of(const Work& work, Math math, const Arch& arch) {
    const Rates& rates = rates_of(arch);
    const double cycles_per_us = rates.multiprocessors * rates.clock_ghz * 1e3;
    const double tf32_products = math == Math::fp32 ? 3 : 1;
    const double multiply_adds_per_cycle =
        std::max(static_cast<double>(rates.fma_per_cycle), rates.tf32_per_cycle / tf32_products);
    constexpr double special_functions = 2;  // a sigmoid is 2^x and 1/x
    return {.memory_us = work.input_bytes / (rates.memory_gb_s * 1e3),
            .products_us = work.multiply_adds / (multiply_adds_per_cycle * cycles_per_us),
            .activations_us = special_functions * work.activations / (rates.special_per_cycle * cycles_per_us)};
}

}  // namespace kiln::tools
