// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <kiln/arch.hpp>
#include <kiln/export.hpp>
#include <kiln/options.hpp>
#include <kiln/report.hpp>
#include <kiln/spec.hpp>

struct CUstream_st;  // CUDA's stream; cudaStream_t and CUstream are both `CUstream_st*`

namespace kiln {

/// A model's parameters in host memory, read during construction only.
struct Weights {
    std::span<const float> weight;     ///< `[out_channels, in_channels, kernel_h, kernel_w]`, row-major, finite
    std::span<const float> bias = {};  ///< `[out_channels]`, finite; empty if and only if `spec.bias` is false
};

/// Device scratch of one forward at a time, made by `Model::workspace` for one shape and reusable without limit.
///
/// Owns its memory and frees it on destruction, which must not happen before the forwards that use it are done.
/// Movable, not copyable. Two forwards that may overlap need two workspaces.
class KILN_API Workspace {
public:
    Workspace() noexcept;
    Workspace(Workspace&&) noexcept;
    Workspace& operator=(Workspace&&) noexcept;
    ~Workspace();

    /// Its size on the device, in bytes; 0 for a default-constructed or moved-from one.
    [[nodiscard]] std::size_t bytes() const noexcept;

private:
    friend class Model;
    friend struct ModelAccess;
    friend struct WorkspaceAccess;  // tests poison the scratch
    struct State;
    explicit Workspace(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

/// A compiled model, bound to one GPU.
///
/// Immutable once built: any number of threads and streams may call `forward` at once. Movable, not copyable.
/// Owns its packed weights on the device and shares the loaded kernel with equal models of the process.
/// Destruction must not happen before the forwards that use the model are done; it never throws.
class KILN_API Model {
public:
    /// Plans, compiles or takes the cubin from the cache, loads it, and uploads the weights: here, never later.
    /// @throws Error with any code; nothing is left behind.
    Model(const ModelSpec& spec, const Weights& weights, const Options& options = {});
    Model(Model&&) noexcept;
    Model& operator=(Model&&) noexcept;
    ~Model();

    /// Scratch for one forward at a time of this model at this shape.
    /// @throws Error `invalid_argument`, `out_of_memory`, `driver_failure`, `forked`.
    [[nodiscard]] Workspace workspace(const Shape& shape) const;

    /// Computes `y[n]` for every image of `x`, in one launch.
    ///
    /// Asynchronous on `stream`; allocates, loads, compiles and synchronises nothing, and can be captured in a CUDA graph. On
    /// Hopper its blocks may start while the kernel in front of it in the stream ends, and let one behind it do the same if that
    /// one asks for it (programmatic dependent launch); they touch `x`, `y` and the workspace when the former has ended.
    /// @param x device memory, `[batch, in_channels, height, width]`, row-major fp32, aligned to 4 bytes
    /// @param y device memory, `[batch]` fp32, aligned to 4 bytes; every element is written; must not overlap `x`
    /// @param stream a stream of the model's device; null is the default stream
    /// @param workspace made by `workspace()` of an equal model on the same device, for this shape or a larger need; one forward
    /// at a time
    ///
    /// A batch of zero launches and writes nothing.
    /// @throws Error `invalid_argument` (a null or misaligned pointer, a shape in which no window fits, a workspace that is too
    /// small or of another device), `driver_failure`, `forked`.
    void forward(const float* x, float* y, const Shape& shape, CUstream_st* stream, Workspace& workspace) const;

    /// The same, with stream-ordered scratch from CUDA's memory pool.
    void forward(const float* x, float* y, const Shape& shape, CUstream_st* stream = nullptr) const;

    /// The kernel behind the model: what it is, and where it came from.
    [[nodiscard]] const KernelReport& kernel() const noexcept;

    [[nodiscard]] const ModelSpec& spec() const noexcept;

private:
    friend struct ModelAccess;  // tests and benchmarks choose a plan of their own
    struct State;
    explicit Model(std::unique_ptr<const State> state) noexcept;
    std::unique_ptr<const State> state_;
};

}  // namespace kiln
