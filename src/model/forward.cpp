// SPDX-License-Identifier: Apache-2.0
// The hot path: checks, arithmetic, one launch.
#include <bit>
#include <cstdint>

#include "driver/tensor_map.hpp"
#include "model/geometry.hpp"
#include "model/model_state.hpp"
#include "model/validation.hpp"

namespace kiln {

namespace {

Result<void> check_pointer(const char* name, const float* pointer) {
    if (pointer == nullptr) return fail(ErrorCode::invalid_argument, "{} is a null pointer; device memory is expected", name);
    if (reinterpret_cast<std::uintptr_t>(pointer) % alignof(float) != 0) {
        return fail(ErrorCode::invalid_argument, "{} is {}; it must be aligned to 4 bytes", name,
                    static_cast<const void*>(pointer));
    }
    return {};
}

/// x as its boxes are made of it: columns, then channels, then rows, so that a stage's channels lie beside each other.
driver::TensorBoxes input_boxes(const float* x, const ModelSpec& spec, const Shape& shape, const InputBox& box) {
    const auto width = static_cast<std::uint64_t>(shape.width), height = static_cast<std::uint64_t>(shape.height);
    const auto channels = static_cast<std::uint64_t>(spec.in_channels), batch = static_cast<std::uint64_t>(shape.batch);
    return {.tensor = x,
            .sizes = {width, channels, height, batch},
            .pitches_bytes = {4 * height * width, 4 * width, 4 * channels * height * width},
            .box = {static_cast<std::uint32_t>(box.columns), static_cast<std::uint32_t>(box.channels),
                    static_cast<std::uint32_t>(box.rows), 1}};
}

}  // namespace

Result<void> Model::State::check_forward(const float* x, const float* y, const Shape& shape) const {
    if (auto checked = check_shape(spec, shape); !checked || shape.batch == 0) return checked;
    if (auto checked = check_pointer("x", x); !checked) return checked;
    return check_pointer("y", y);
}

Result<void> Model::State::check_workspace(const Shape& shape, const Workspace::State* workspace,
                                           const LaunchGeometry& needed) const {
    const std::size_t partial_bytes = workspace != nullptr ? workspace->partial_bytes : 0;
    const std::size_t counter_bytes = workspace != nullptr ? workspace->counter_bytes : 0;
    if (needed.partial_bytes > partial_bytes || needed.counter_bytes > counter_bytes) {
        return fail(ErrorCode::invalid_argument,
                    "workspace holds {} + {} bytes; a batch of {} with {}x{} pixels needs {} + {}: make it with Model::workspace "
                    "for this shape",
                    partial_bytes, counter_bytes, shape.batch, shape.height, shape.width, needed.partial_bytes,
                    needed.counter_bytes);
    }
    const driver::Device* owner = workspace != nullptr ? workspace->memory.device() : nullptr;
    if (owner == nullptr || owner->ordinal == context.device().ordinal) return {};
    return fail(ErrorCode::invalid_argument,
                "workspace is memory of cuda:{}; the model runs on cuda:{}: make it with Model::workspace of this model",
                owner->ordinal, context.device().ordinal);
}

ForwardArguments Model::State::arguments(const float* x, float* y, const Shape& shape, const LaunchGeometry& geometry,
                                         CUdeviceptr scratch, std::size_t counters_offset) const {
    const Size2 pooled = pooled_size_unchecked(spec, shape);
    return {.x = x,
            .weights = weights.pointer(),
            .y = y,
            .counters = reinterpret_cast<void*>(scratch + counters_offset),
            .partials = reinterpret_cast<void*>(scratch),
            .batch = shape.batch,
            .height = static_cast<std::int32_t>(shape.height),
            .width = static_cast<std::int32_t>(shape.width),
            .pooled_height = static_cast<std::int32_t>(pooled.height),
            .pooled_width = static_cast<std::int32_t>(pooled.width),
            .layout = geometry.layout};
}

Result<KernelParameter> Model::State::parameter(const float* x, float* y, const Shape& shape, const LaunchGeometry& geometry,
                                                CUdeviceptr scratch, std::size_t counters_offset) const {
    KernelParameter parameter{.forward = arguments(x, y, shape, geometry, scratch, counters_offset)};
    if (geometry.input_box.columns == 0 || reinterpret_cast<std::uintptr_t>(x) % 16 != 0) return parameter;
    auto map = driver::encode_tensor_map(context.cuda(), input_boxes(x, spec, shape, geometry.input_box));
    if (!map) return pass_on(map);
    parameter.input_map = std::bit_cast<std::array<std::uint64_t, 16>>(*map);
    return parameter;
}

Result<void> Model::State::launch(const float* x, float* y, const Shape& shape, CUstream_st* stream,
                                  const LaunchGeometry& geometry, CUdeviceptr scratch, std::size_t counters_offset) const {
    auto parameter = this->parameter(x, y, shape, geometry, scratch, counters_offset);
    if (!parameter) return pass_on(parameter);
    return kernel->kernel.launch({.blocks = static_cast<unsigned>(geometry.grid),
                                  .threads = static_cast<unsigned>(geometry.block),
                                  .dynamic_shared_bytes = static_cast<unsigned>(geometry.shared_bytes),
                                  .blocks_per_cluster = static_cast<unsigned>(geometry.cluster),
                                  .may_start_early = geometry.may_start_early},
                                 stream, &*parameter);
}

Result<void> Model::State::forward(const float* x, float* y, const Shape& shape, CUstream_st* stream,
                                   const Workspace& workspace) const {
    if (auto checked = check_forward(x, y, shape); !checked || shape.batch == 0) return checked;
    const LaunchGeometry needed = geometry(shape);
    const Workspace::State* scratch = workspace.state_.get();
    if (auto checked = check_workspace(shape, scratch, needed); !checked) return checked;
    auto guard = context.enter();
    if (!guard) return pass_on(guard);
    if (scratch == nullptr) return launch(x, y, shape, stream, needed, 0, 0);
    return launch(x, y, shape, stream, needed, scratch->memory.address(), scratch->partial_bytes);
}

Result<void> Model::State::forward(const float* x, float* y, const Shape& shape, CUstream_st* stream) const {
    if (auto checked = check_forward(x, y, shape); !checked || shape.batch == 0) return checked;
    const LaunchGeometry needed = geometry(shape);
    auto guard = context.enter();
    if (!guard) return pass_on(guard);
    const std::size_t bytes = needed.partial_bytes + needed.counter_bytes;
    if (bytes == 0) return launch(x, y, shape, stream, needed, 0, 0);

    auto scratch = driver::StreamMemory::allocate(context, bytes, stream);
    if (!scratch) return pass_on(scratch);
    if (auto cleared = scratch->fill_bytes(0, bytes); !cleared) return cleared;
    return launch(x, y, shape, stream, needed, scratch->address(), needed.partial_bytes);
}

BareLaunch ModelAccess::bare_launch(const Model& model, const float* x, float* y, const Shape& shape,
                                    const Workspace& workspace) {
    const Model::State& state = *model.state_;
    const LaunchGeometry geometry = state.geometry(shape);
    const CUdeviceptr scratch = workspace.state_ ? workspace.state_->memory.address() : 0;
    return {.function = state.kernel->kernel.handle(),
            .grid = static_cast<unsigned>(geometry.grid),
            .block = static_cast<unsigned>(geometry.block),
            .shared_bytes = static_cast<unsigned>(geometry.shared_bytes),
            .parameter = value_or_throw(state.parameter(x, y, shape, geometry, scratch, geometry.partial_bytes))};
}

void Model::forward(const float* x, float* y, const Shape& shape, CUstream_st* stream, Workspace& workspace) const {
    value_or_throw(state_->forward(x, y, shape, stream, workspace));
}

void Model::forward(const float* x, float* y, const Shape& shape, CUstream_st* stream) const {
    value_or_throw(state_->forward(x, y, shape, stream));
}

}  // namespace kiln
