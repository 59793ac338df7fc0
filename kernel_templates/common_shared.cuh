// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kiln {

/// Addresses in shared memory take one register; pointers take two.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

}  // namespace kiln
