// SPDX-License-Identifier: Apache-2.0
#include "model/specialisation.hpp"

namespace kiln {

std::vector<Constant> specialisation_constants(const ModelSpec& spec, const Tile& tile) {
    std::vector<Constant> constants{
        {"in_channels", spec.in_channels},
        {"out_channels", spec.out_channels},
        {"kernel_h", spec.kernel_size.height},
        {"kernel_w", spec.kernel_size.width},
        {"pool_h", spec.pool_kernel_size.height},
        {"pool_w", spec.pool_kernel_size.width},
        {"stride_h", spec.stride.height},
        {"stride_w", spec.stride.width},
        {"padding_h", spec.padding.height},
        {"padding_w", spec.padding.width},
        {"dilation_h", spec.dilation.height},
        {"dilation_w", spec.dilation.width},
        {"has_bias", spec.bias ? 1 : 0},
        {"is_sigmoid", spec.activation == Activation::sigmoid ? 1 : 0},
        {"is_tf32", spec.math == Math::tf32 ? 1 : 0},
    };
    constants.insert(constants.end(), tile.begin(), tile.end());
    return constants;
}

Result<std::string> specialised_source(const ModelSpec& spec, const Plan& plan) {
    auto text = template_text(plan.family->name());
    if (!text) return pass_on(text);
    return render_source(*text, specialisation_constants(spec, plan.candidate.tile));
}

}  // namespace kiln
