// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace kiln {

/// What every kernel's one parameter begins with; `kernel_templates/arguments.cuh` declares the same struct on the device's side.
/// 64-bit sizes come first, so that there is no padding to disagree about.
struct ForwardArguments {
    const float* x = nullptr;       ///< [batch, in_channels, height, width]
    const void* weights = nullptr;  ///< as the family packed them
    float* y = nullptr;             ///< [batch]
    void* counters = nullptr;       ///< zero between launches
    void* partials = nullptr;       ///< scratch, 16-byte aligned
    std::int64_t batch = 0;
    std::int32_t height = 0;
    std::int32_t width = 0;
    std::int32_t pooled_height = 0;
    std::int32_t pooled_width = 0;
    std::array<std::int64_t, 8> layout{};  ///< `LaunchGeometry::layout`
};
static_assert(sizeof(ForwardArguments) == 128);

/// The whole parameter. Of it each kernel takes what it declares: hopper_stream both (`StreamParameter`), others the first.
struct KernelParameter {
    ForwardArguments forward;
    alignas(64) std::array<std::uint64_t, 16> input_map{};  ///< the driver's tensor map of x, where `LaunchGeometry` has a box
};
static_assert(sizeof(KernelParameter) == 256);

}  // namespace kiln
