// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "driver/entry_points.hpp"
#include "driver/fork.hpp"
#include "support/result.hpp"

namespace kiln::driver {

/// libcuda as it was found.
struct Library {
    EntryPoints cuda;
    std::string path;  ///< of the file
    int version = 0;   ///< of the newest CUDA it serves: 13000 is 13.0
};

/// "13.0"
[[nodiscard]] std::string version_text(int version);

/// Opens `KILN_CUDA_LIBRARY`, else libcuda.so.1, and checks that it is CUDA 12.0 or newer; does not initialise it. The library
/// stays open for the life of the process; a failure is not remembered. Thread safe.
[[nodiscard]] Result<const Library*> open_library();

/// The driver, initialised: every use of a device begins here. Fails with `forked` in a child of a process that had used it, with
/// `no_driver`, and with `no_device` where there is a driver and no GPU. Cheap after the first success; thread safe.
[[nodiscard]] Result<const EntryPoints*> entry_points();

}  // namespace kiln::driver
