// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include <kiln/arch.hpp>

#include "driver/driver.hpp"

namespace kiln::driver {

/// One GPU, as the driver describes it. A plain value.
struct Device {
    int ordinal = 0;
    CUdevice handle = 0;
    std::string name;
    std::string uuid;  ///< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as nvidia-smi prints it
    int major = 0;     ///< compute capability
    int minor = 0;
    std::optional<Arch> arch;  ///< the one that serves this GPU; none for a GPU that Kiln has no arch for
    int multiprocessors = 0;
    int shared_bytes_per_block = 0;  ///< the opt-in limit, static and dynamic together
    int shared_bytes_per_multiprocessor = 0;
    int l2_bytes = 0;
    std::size_t memory_bytes = 0;
    bool has_memory_pools = false;  ///< stream-ordered allocation works
    bool has_early_starts = false;  ///< a kernel may start while the one in front of it ends, in graphs too
};

/// How many GPUs there are; zero is not an error.
[[nodiscard]] Result<int> device_count();

/// The GPU of this ordinal; asked of the driver once per process. Fails with `no_device`, naming how many there are.
[[nodiscard]] Result<const Device*> device(int ordinal);

/// The arch that a GPU gets, or `unsupported_arch` naming the GPU.
[[nodiscard]] Result<Arch> arch_of(const Device& device);

}  // namespace kiln::driver
