// SPDX-License-Identifier: Apache-2.0
#include <kiln/model.hpp>

#include <span>
#include <utility>

#include "cache/kernel_cache.hpp"
#include "jit/nvrtc.hpp"
#include "model/model_state.hpp"
#include "model/validation.hpp"

namespace kiln {

namespace {

Result<driver::DeviceMemory> upload_weights(const driver::Context& context, const ModelSpec& spec, const Plan& plan,
                                            const Weights& weights) {
    const std::vector<std::byte> packed = plan.family->pack(spec, plan.candidate.tile, weights);
    auto memory = driver::DeviceMemory::allocate(context, packed.size());
    if (!memory) return pass_on(memory);
    if (auto copied = memory->copy_from_host(packed); !copied) return pass_on(copied);
    return memory;
}

Result<std::shared_ptr<const SpecialisedKernel>> specialise_for(const ModelSpec& spec, const Arch& arch, const Plan* plan) {
    if (plan == nullptr) return specialise_best(spec, arch);
    auto specialised = specialise(spec, arch, *plan);
    if (!specialised) return pass_on(specialised);
    return std::make_shared<const SpecialisedKernel>(std::move(*specialised));
}

}  // namespace

/// Everything that construction does; `plan` is null for the planner's choice.
Result<std::unique_ptr<const Model::State>> Model::State::build(const ModelSpec& spec, const Weights& weights,
                                                                const Options& options, const Plan* plan) {
    if (auto checked = check_spec(spec); !checked) return pass_on(checked);
    if (auto checked = check_weights(spec, weights); !checked) return pass_on(checked);
    auto device = driver::device(options.device);
    if (!device) return pass_on(device);
    auto arch = driver::arch_of(**device);
    if (!arch) return pass_on(arch);
    auto specialised = specialise_for(spec, *arch, plan);
    if (!specialised) return pass_on(specialised);
    auto cache = KernelCache::open(options.cache, jit::nvrtc_build_id);
    if (!cache) return pass_on(cache);
    auto context = driver::Context::retain(**device);
    if (!context) return pass_on(context);
    auto kernel = obtain_loaded(**specialised, *context, **cache);
    if (!kernel) return pass_on(kernel);
    auto memory = upload_weights(*context, spec, (*specialised)->plan, weights);
    if (!memory) return pass_on(memory);
    return std::unique_ptr<const State>(
        new State{spec, *specialised, kernel->kernel, std::move(*context), std::move(*memory), std::move(kernel->report)});
}

LaunchGeometry Model::State::geometry(const Shape& shape) const {
    const Plan& plan = specialised->plan;
    return plan.family->geometry(spec, plan.candidate.tile, shape, kernel->limits);
}

Model::Model(const ModelSpec& spec, const Weights& weights, const Options& options)
    : state_(value_or_throw(State::build(spec, weights, options, nullptr))) {}

Model::Model(std::unique_ptr<const State> state) noexcept : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model ModelAccess::with_plan(const ModelSpec& spec, const Weights& weights, const Plan& plan, const Options& options) {
    return Model(value_or_throw(Model::State::build(spec, weights, options, &plan)));
}

const KernelReport& Model::kernel() const noexcept {
    return state_->report;
}

const ModelSpec& Model::spec() const noexcept {
    return state_->spec;
}

Workspace Model::workspace(const Shape& shape) const {
    value_or_throw(check_shape(state_->spec, shape));
    const LaunchGeometry geometry = shape.batch > 0 ? state_->geometry(shape) : LaunchGeometry{};
    auto memory =
        value_or_throw(driver::DeviceMemory::allocate(state_->context, geometry.partial_bytes + geometry.counter_bytes));
    value_or_throw(memory.fill_bytes(0));
    return Workspace(
        std::make_unique<Workspace::State>(Workspace::State{std::move(memory), geometry.partial_bytes, geometry.counter_bytes}));
}

}  // namespace kiln
