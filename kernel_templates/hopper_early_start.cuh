// SPDX-License-Identifier: Apache-2.0
#pragma once

// A launch's beginning hidden behind the end of the kernel in front of it in the stream: blocks may start as soon as that one's
// leave room, set up what needs nothing from it, and then wait for its end.
namespace kiln {

/// Lets the next kernel's blocks start when all of this one's have called it or ended (PTX: griddepcontrol.launch_dependents;
/// sm_90).
__device__ __forceinline__ void griddepcontrol_launch_dependents() {
    asm volatile("griddepcontrol.launch_dependents;");
}

/// Waits until the kernel in front has ended, and sees what it wrote. Before that nothing may be touched but the arguments,
/// shared memory and the weights: x may come from that kernel, and y and the workspace may be its own, too. Each thread that
/// touches them calls it, so kernels end in the order of the stream (PTX: griddepcontrol.wait; sm_90).
__device__ __forceinline__ void griddepcontrol_wait() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

}  // namespace kiln
