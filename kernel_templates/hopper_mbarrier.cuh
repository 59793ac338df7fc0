// SPDX-License-Identifier: Apache-2.0
#pragma once

// What Hopper's barriers have beyond mbarrier.cuh: they count arriving bytes too. And the fences that go with them. Sm_90 and
// later.
namespace kiln {

/// Makes initialised barriers visible to the copy engine. Once, by the initialising thread, before the block's barrier.
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Orders this thread's accesses to shared memory before those that the tensor cores and the copy engine will make there.
__device__ __forceinline__ void fence_proxy_async() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Arrives, and adds `bytes` to what the phase waits for.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// Adds `bytes` to what the phase waits for, without arriving.
__device__ __forceinline__ void mbarrier_expect_tx(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// mbarrier_wait_parity with the loop hidden from the compiler's front half, which would move arithmetic across it.
__device__ __forceinline__ void mbarrier_wait_parity_unseen(unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n\t.reg .pred done;\n"
        "again:\n\t"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n\t"
        "@!done bra again;\n\t}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

/// The same, unless the phase is known to have ended.
__device__ __forceinline__ void mbarrier_wait_parity_unless(bool has_ended, unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n\t.reg .pred done;\n\t"
        "setp.ne.u32 done, %0, 0;\n\t"
        "@done bra ended;\n"
        "again:\n\t"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%1], %2;\n\t"
        "@!done bra again;\n"
        "ended:\n\t}" ::"r"(static_cast<unsigned>(has_ended)),
        "r"(barrier), "r"(parity)
        : "memory");
}

}  // namespace kiln
