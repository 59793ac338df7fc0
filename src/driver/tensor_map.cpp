// SPDX-License-Identifier: Apache-2.0
#include "driver/tensor_map.hpp"

#include "driver/errors.hpp"

namespace kiln::driver {

Result<CUtensorMap> encode_tensor_map(const EntryPoints& cuda, const TensorBoxes& boxes) {
    const std::array<std::uint32_t, 4> every_element{1, 1, 1, 1};
    CUtensorMap map{};
    const CUresult result = cuda.tensor_map_encode_tiled(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, const_cast<float*>(boxes.tensor),  // the driver only notes it
        boxes.sizes.data(), boxes.pitches_bytes.data(), boxes.box.data(), every_element.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) return fail_call(cuda, result, "describing the input to the copy engine");
    return map;
}

}  // namespace kiln::driver
