// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include <kiln/model.hpp>

#include "driver/memory.hpp"
#include "model/loaded_kernel.hpp"

namespace kiln {

/// Scratch on the device: partial sums first, then the counters, which are zero between launches.
struct Workspace::State {
    driver::DeviceMemory memory;
    std::size_t partial_bytes = 0;
    std::size_t counter_bytes = 0;
};

/// Hidden, or it would be exported with the class that it is nested in.
struct __attribute__((visibility("hidden"))) Model::State {
    ModelSpec spec;
    std::shared_ptr<const SpecialisedKernel> specialised;
    std::shared_ptr<const LoadedKernel> kernel;
    driver::Context context;
    driver::DeviceMemory weights;
    KernelReport report;  ///< the kernel's, with the origin that this model saw

    /// Everything that construction does. `plan` is null for the planner's choice.
    [[nodiscard]] static Result<std::unique_ptr<const State>> build(const ModelSpec& spec, const Weights& weights,
                                                                    const Options& options, const Plan* plan);

    [[nodiscard]] LaunchGeometry geometry(const Shape& shape) const;
    [[nodiscard]] Result<void> forward(const float* x, float* y, const Shape& shape, CUstream_st* stream,
                                       const Workspace& workspace) const;
    [[nodiscard]] Result<void> forward(const float* x, float* y, const Shape& shape, CUstream_st* stream) const;

    [[nodiscard]] Result<KernelParameter> parameter(const float* x, float* y, const Shape& shape, const LaunchGeometry& geometry,
                                                    CUdeviceptr scratch, std::size_t counters_offset) const;

private:
    [[nodiscard]] ForwardArguments arguments(const float* x, float* y, const Shape& shape, const LaunchGeometry& geometry,
                                             CUdeviceptr scratch, std::size_t counters_offset) const;
    [[nodiscard]] Result<void> check_forward(const float* x, const float* y, const Shape& shape) const;
    [[nodiscard]] Result<void> check_workspace(const Shape& shape, const Workspace::State* workspace,
                                               const LaunchGeometry& needed) const;
    [[nodiscard]] Result<void> launch(const float* x, float* y, const Shape& shape, CUstream_st* stream,
                                      const LaunchGeometry& geometry, CUdeviceptr scratch, std::size_t counters_offset) const;
};

/// A forward taken apart, for measuring what `forward` adds to the driver's own launch.
struct BareLaunch {
    CUfunction function = nullptr;
    unsigned grid = 0, block = 0, shared_bytes = 0;
    KernelParameter parameter;
};

/// Opens what is closed to users: a model of a plan of one's own, for tests and for measuring every candidate.
struct ModelAccess {
    [[nodiscard]] static BareLaunch bare_launch(const Model& model, const float* x, float* y, const Shape& shape,
                                                const Workspace& workspace);
    [[nodiscard]] static Model with_plan(const ModelSpec& spec, const Weights& weights, const Plan& plan,
                                         const Options& options = {});
};

/// Likewise: the part of the scratch that a forward must not rely on.
struct WorkspaceAccess {
    [[nodiscard]] static CUdeviceptr partials(const Workspace& workspace);
    [[nodiscard]] static std::size_t partial_bytes(const Workspace& workspace);
};

}  // namespace kiln
