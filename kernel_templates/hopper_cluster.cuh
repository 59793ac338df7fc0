// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the blocks of a cluster do together (PTX: barrier.cluster, mapa, ld.shared::cluster; sm_90).
namespace kiln {

/// Every thread of the cluster; what was written before is seen by all after `barrier_cluster_wait`.
__device__ __forceinline__ void barrier_cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void barrier_cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// The address, in the cluster's window, of what lies at `address` in the shared memory of block `rank`.
__device__ __forceinline__ unsigned mapa(unsigned address, unsigned rank) {
    unsigned result;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
    return result;
}

__device__ __forceinline__ float4 ld_shared_cluster(unsigned address) {
    float4 value;
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "r"(address)
                 : "memory");
    return value;
}

__device__ __forceinline__ void st_shared(unsigned address, float4 value) {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w)
                 : "memory");
}

}  // namespace kiln
