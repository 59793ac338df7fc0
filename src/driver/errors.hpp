// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "driver/entry_points.hpp"
#include "support/result.hpp"

namespace kiln::driver {

/// What a refused call becomes: "allocating 4 bytes: CUDA_ERROR_OUT_OF_MEMORY (out of memory)", its code by the kind of refusal.
[[nodiscard]] tl::unexpected<Failure> fail_call(const EntryPoints& cuda, CUresult result, std::string_view doing);

/// `fail_call` unless the call succeeded.
[[nodiscard]] inline Result<void> check(const EntryPoints& cuda, CUresult result, std::string_view doing) {
    if (result == CUDA_SUCCESS) return {};
    return fail_call(cuda, result, doing);
}

/// For destructors: a refusal is at most logged. A driver that has already shut down, at the end of a process, is no news.
void ignore_result(const EntryPoints& cuda, CUresult result, std::string_view doing) noexcept;

/// Whether the driver refused the cubin itself, which another driver may accept, as opposed to having no memory or no device for
/// it.
[[nodiscard]] bool is_refused_image(const Failure& failure) noexcept;

}  // namespace kiln::driver
