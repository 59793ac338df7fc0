// SPDX-License-Identifier: Apache-2.0
#include "model/specialised_kernel.hpp"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "jit/compiler.hpp"
#include "model/spec_json.hpp"
#include "model/specialisation.hpp"

namespace kiln {

namespace {

struct MemoKey {
    ModelSpec spec;
    Arch arch;

    friend bool operator==(const MemoKey&, const MemoKey&) = default;
};

struct MemoHash {
    std::size_t operator()(const MemoKey& key) const noexcept {
        const ModelSpec& spec = key.spec;
        auto hash = static_cast<std::size_t>(key.arch.number());
        for (const std::int64_t each :
             {spec.in_channels, spec.out_channels, spec.kernel_size.height, spec.kernel_size.width, spec.pool_kernel_size.height,
              spec.pool_kernel_size.width, spec.stride.height, spec.padding.height,
              spec.expected ? spec.expected->batch ^ spec.expected->width << 20 : 0}) {
            hash = hash * 0x9E3779B97F4A7C15U + static_cast<std::size_t>(each);
        }
        return hash ^ hash >> 32;
    }
};

/// What has been specialised in this process. Forgets everything when it is full: no program has this many models at once.
class Memo {
public:
    using Value = std::shared_ptr<const SpecialisedKernel>;

    Value find(const MemoKey& key) const {
        const std::lock_guard lock(mutex_);
        const auto found = values_.find(key);
        return found == values_.end() ? nullptr : found->second;
    }

    void insert(const MemoKey& key, const Value& value) {
        const std::lock_guard lock(mutex_);
        if (values_.size() >= capacity) values_.clear();
        values_.emplace(key, value);
    }

private:
    static constexpr std::size_t capacity = 4096;
    mutable std::mutex mutex_;
    std::unordered_map<MemoKey, Value, MemoHash> values_;
};

Memo& memo() {
    static Memo& instance = *new Memo;  // never destroyed: models may be made while the program ends
    return instance;
}

}  // namespace

Result<SpecialisedKernel> specialise(const ModelSpec& spec, const Arch& arch, const Plan& plan) {
    auto source = specialised_source(spec, plan);
    if (!source) return pass_on(source);
    KernelRequest request{.arch = arch,
                          .family = std::string(plan.family->name()),
                          .tile = to_string(plan.candidate.tile),
                          .options = jit::compile_options(),
                          .source = std::move(*source),
                          .spec_json = to_json_text(spec)};
    auto key = std::make_shared<const Key>(make_key(request));
    return SpecialisedKernel{plan, plan.family->block(spec, plan.candidate.tile), plan_note(spec, plan), std::move(request),
                             std::move(key)};
}

Result<std::shared_ptr<const SpecialisedKernel>> specialise_best(const ModelSpec& spec, const Arch& arch) {
    const MemoKey key{spec, arch};
    if (auto known = memo().find(key)) return known;
    auto plan = choose_plan(spec, arch);
    if (!plan) return pass_on(plan);
    auto made = specialise(spec, arch, *plan);
    if (!made) return pass_on(made);
    auto shared = std::make_shared<const SpecialisedKernel>(std::move(*made));
    memo().insert(key, shared);
    return shared;
}

}  // namespace kiln
