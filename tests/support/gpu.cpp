// SPDX-License-Identifier: Apache-2.0
#include "support/gpu.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <stdexcept>

#include "cache/kernel_cache.hpp"
#include "driver/device.hpp"
#include "driver/errors.hpp"
#include "jit/nvrtc.hpp"
#include "model/loaded_kernel.hpp"
#include "model/model_state.hpp"
#include "support/parallel.hpp"
#include "support/result.hpp"

namespace kiln::test {

const driver::Context& device_context() {
    static const driver::Context& context = *new driver::Context(value_or_throw(driver::Context::retain(0)));
    return context;
}

Arch device_arch() {
    return value_or_throw(driver::arch_of(device_context().device()));
}

void synchronise_device() {
    value_or_throw(device_context().synchronize());
}

namespace {

void fill_words(CUdeviceptr address, std::uint32_t bits, std::size_t words) {
    if (words == 0) return;
    const auto guard = value_or_throw(device_context().enter());
    const auto& cuda = device_context().cuda();
    value_or_throw(driver::check(cuda, cuda.memset_d32(address, bits, words), "filling"));
}

}  // namespace

template <typename T>
DeviceArray<T>::DeviceArray(std::size_t count)
    : count_(count), memory_(value_or_throw(driver::DeviceMemory::allocate(device_context(), count * sizeof(T)))) {}

template <typename T>
void DeviceArray<T>::upload(std::span<const T> values, std::size_t offset) {
    const auto guard = value_or_throw(device_context().enter());
    const auto& cuda = device_context().cuda();
    value_or_throw(driver::check(
        cuda, cuda.memcpy_htod(memory_.address() + offset * sizeof(T), values.data(), values.size_bytes()), "uploading"));
}

template <typename T>
void DeviceArray<T>::fill(std::uint32_t bits) {
    fill_words(memory_.address(), bits, count_ * sizeof(T) / 4);
}

template <typename T>
std::vector<T> DeviceArray<T>::download() const {
    std::vector<T> values(count_);
    value_or_throw(memory_.copy_to_host(std::as_writable_bytes(std::span(values))));
    return values;
}

template class DeviceArray<float>;

std::vector<Plan> legal_plans(const ModelSpec& spec) {
    std::vector<Plan> plans = enumerate_plans(spec, device_arch());
    if (const char* only = std::getenv("KILN_TEST_FAMILY")) {
        std::erase_if(plans, [&](const Plan& plan) { return plan.family->name() != only; });
    }
    return plans;
}

std::vector<Plan> plans_of_family(const ModelSpec& spec, std::string_view family) {
    std::vector<Plan> plans = enumerate_plans(spec, device_arch());
    std::erase_if(plans, [&](const Plan& plan) { return plan.family->name() != family; });
    return plans;
}

std::vector<Plan> some_of(std::vector<Plan> plans, std::size_t count) {
    std::vector<Plan> some;
    const std::size_t step = plans.size() / count + 1;
    for (std::size_t index = 0; index < plans.size(); index += step) some.push_back(std::move(plans[index]));
    return some;
}

std::vector<Plan> best_plan_of_each_family(const ModelSpec& spec) {
    std::vector<Plan> best;
    std::set<const Family*> seen;
    for (Plan& plan : legal_plans(spec)) {
        if (seen.insert(plan.family).second) best.push_back(std::move(plan));
    }
    return best;
}

namespace {

struct Planned {
    ModelSpec spec;
    Plan plan;
};

void compile_planned(const std::vector<Planned>& all) {
    const auto cache = value_or_throw(KernelCache::open({}, jit::nvrtc_build_id));
    const Arch arch = device_arch();
    parallel_for(all.size(), [&](std::size_t index) {
        const SpecialisedKernel kernel = value_or_throw(specialise(all[index].spec, arch, all[index].plan));
        (void)value_or_throw(cache->obtain(kernel.request, compiler_of(kernel)));
    });
}

}  // namespace

void compile_ahead(const std::vector<ModelSpec>& specs) {
    std::vector<Planned> all;
    for (const ModelSpec& spec : specs) {
        for (const Plan& plan : best_plan_of_each_family(spec)) all.push_back({spec, plan});
    }
    compile_planned(all);
}

void compile_ahead(const ModelSpec& spec, const std::vector<Plan>& plans) {
    std::vector<Planned> all;
    for (const Plan& plan : plans) all.push_back({spec, plan});
    compile_planned(all);
}

Model model_of(const RandomCase& random, const std::optional<Plan>& plan) {
    if (plan) return ModelAccess::with_plan(random.spec, random.weights(), *plan);
    return Model(random.spec, random.weights());
}

Forward::Forward(const Model& model, const RandomCase& random, std::size_t offset)
    : model_(model),
      shape_(random.shape),
      offset_(offset),
      stream_(value_or_throw(driver::Stream::create(device_context()))),
      x_(random.input.size() + offset),
      y_(static_cast<std::size_t>(random.shape.batch) + offset),
      workspace_(model.workspace(random.shape)) {
    x_.fill(poison_bits);
    x_.upload(random.input, offset);
}

void Forward::poison() {
    synchronise_device();
    y_.fill(poison_bits);
    fill_words(WorkspaceAccess::partials(workspace_), poison_bits, WorkspaceAccess::partial_bytes(workspace_) / 4);
    synchronise_device();
}

void Forward::start() {
    model_.forward(x_.data() + offset_, y_.data() + offset_, shape_, stream_.handle(), workspace_);
}

std::vector<float> Forward::finish() {
    value_or_throw(stream_.synchronize());
    std::vector<float> y = y_.download();
    for (std::size_t index = 0; index < offset_; ++index) {
        if (bits_of(y[index]) != poison_bits) throw std::runtime_error("a forward wrote in front of y");
    }
    y.erase(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(offset_));
    return y;
}

std::vector<float> Forward::run() {
    poison();
    start();
    return finish();
}

std::vector<float> Forward::run_without_workspace() {
    poison();
    model_.forward(x_.data() + offset_, y_.data() + offset_, shape_, stream_.handle());
    return finish();
}

std::vector<float> Forward::run_other(const RandomCase& other) {
    DeviceArray<float> x(other.input.size()), y(static_cast<std::size_t>(other.shape.batch));
    x.upload(other.input);
    y.fill(poison_bits);
    model_.forward(x.data(), y.data(), other.shape, stream_.handle(), workspace_);
    value_or_throw(stream_.synchronize());
    return y.download();
}

namespace {

driver::Graph capture(const driver::Stream& stream, int repeats, const std::function<void()>& work) {
    return value_or_throw(driver::Graph::capture(stream, [&]() -> Result<void> {
        for (int each = 0; each < repeats; ++each) work();
        return {};
    }));
}

}  // namespace

CapturedForward::CapturedForward(Forward& forward, int repeats, Scratch scratch)
    : forward_(forward), graph_(capture(forward.stream_, repeats, [&] {
          if (scratch == Scratch::workspace) {
              forward.start();
          } else {
              forward.model_.forward(forward.x_.data() + forward.offset_, forward.y_.data() + forward.offset_, forward.shape_,
                                     forward.stream_.handle());
          }
      })) {}

void CapturedForward::launch() const {
    value_or_throw(graph_.launch(forward_.stream_.handle()));
}

std::vector<float> forward_once(const RandomCase& random, const Plan& plan, std::size_t offset) {
    const Model model = model_of(random, plan);
    return Forward(model, random, offset).run();
}

}  // namespace kiln::test
