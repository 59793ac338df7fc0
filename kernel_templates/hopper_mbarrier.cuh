// SPDX-License-Identifier: Apache-2.0
#pragma once

// Barriers in shared memory that count arrivals and arriving bytes (PTX: mbarrier), and the fences that go with them.
// Addresses are 32-bit addresses of shared memory. Sm_90 and later.
namespace kiln {

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// Each phase of the barrier ends after `arrivals` arrivals and as many bytes as were expected.
__device__ __forceinline__ void mbarrier_init(unsigned barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes initialised barriers visible to the copy engine. Once, by the initialising thread, before the block's barrier.
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Orders this thread's accesses to shared memory before those that the tensor cores and the copy engine will make there.
__device__ __forceinline__ void fence_proxy_async() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives, and adds `bytes` to what the phase waits for.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// Adds `bytes` to what the phase waits for, without arriving.
__device__ __forceinline__ void mbarrier_expect_tx(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// True once the phase of this parity has ended; may sleep a little before it says no.
__device__ __forceinline__ bool mbarrier_try_wait_parity(unsigned barrier, unsigned parity) {
    unsigned done;
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
    return done != 0;
}

/// The same, without sleeping.
__device__ __forceinline__ bool mbarrier_test_wait_parity(unsigned barrier, unsigned parity) {
    unsigned done;
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
    return done != 0;
}

/// Waits for the end of the phase of this parity: 0 for a barrier's first phase, 1 for its second, 0 for its third.
/// Waiting for parity 1 on a fresh barrier returns at once.
__device__ __forceinline__ void mbarrier_wait_parity(unsigned barrier, unsigned parity) {
    while (!mbarrier_try_wait_parity(barrier, parity)) {
    }
}

/// The same, with the loop hidden from the compiler's front half, which would move arithmetic across it.
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
