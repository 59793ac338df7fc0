// SPDX-License-Identifier: Apache-2.0
#include "candidate_jobs.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cache/kernel_cache.hpp"
#include "jit/nvrtc.hpp"
#include "model/loaded_kernel.hpp"
#include "support/parallel.hpp"

namespace kiln::bench {

namespace {

/// Of each family the best predicted, and others spread evenly over the rest; of families that are far behind only the best.
std::vector<Plan> selected(const std::vector<Plan>& all, const Selection& selection) {
    if (selection.best == 0) return all;
    constexpr double far_behind = 2;
    std::map<const Family*, std::size_t> sizes, seen;
    std::set<const Family*> behind;
    for (const Plan& plan : all) {
        if (++sizes[plan.family] > 1) continue;
        if (plan.candidate.predicted_us > far_behind * all.front().candidate.predicted_us) behind.insert(plan.family);
    }
    std::vector<Plan> chosen;
    for (const Plan& plan : all) {
        const std::size_t index = seen[plan.family]++;
        if (index > 0 && behind.count(plan.family) > 0) continue;
        const std::size_t rest = sizes[plan.family] - std::min(sizes[plan.family], selection.best);
        const bool is_other = index >= selection.best && selection.others > 0 &&
                              (index - selection.best) % std::max<std::size_t>(1, rest / selection.others) == 0;
        if (index < selection.best || is_other) chosen.push_back(plan);
    }
    return chosen;
}

}  // namespace

std::string name_of(const Plan& plan) {
    return fmt::format("{} {}", plan.family->name(), to_string(plan.candidate.tile));
}

std::vector<const Plan*> Job::plans() const {
    std::vector<const Plan*> plans;
    std::set<std::string> names;
    for (const std::vector<Plan>* list : {&told, &untold}) {
        for (const Plan& plan : *list) {
            if (names.insert(name_of(plan)).second) plans.push_back(&plan);
        }
    }
    return plans;
}

Job make_job(CandidateSpec candidate, const Selection& selection, const Arch& arch) {
    Job job{.candidate = std::move(candidate)};
    const std::vector<Plan> told = enumerate_plans(job.candidate.spec, arch);
    job.legal = told.size();
    job.told = selected(told, selection);
    ModelSpec spec = job.candidate.spec;
    spec.expected.reset();
    job.untold = enumerate_plans(spec, arch);
    job.untold.resize(std::min(job.untold.size(), std::max<std::size_t>(1, selection.untold)));
    for (Plan& plan : job.untold) {  // not what they were ranked by: what they take at the shape that is measured
        plan.candidate.predicted_us = plan.family->predicted_us(spec, plan.candidate.tile, job.candidate.shape(), arch);
    }
    return job;
}

void compile(std::span<Job> jobs, const Arch& arch) {
    struct Task {
        Job* job;
        const Plan* plan;
        std::string error;
    };
    std::vector<Task> tasks;
    for (Job& job : jobs) {
        for (const Plan* plan : job.plans()) tasks.push_back({&job, plan, {}});
    }
    const auto cache = value_or_throw(KernelCache::open({}, jit::nvrtc_build_id));
    parallel_for(tasks.size(), [&](std::size_t index) {
        Task& task = tasks[index];
        const SpecialisedKernel kernel = value_or_throw(specialise(task.job->candidate.spec, arch, *task.plan));
        if (const auto got = cache->obtain(kernel.request, compiler_of(kernel)); !got) task.error = got.error().message;
    });
    for (const Task& task : tasks) {
        if (!task.error.empty()) task.job->errors[name_of(*task.plan)] = task.error;
    }
}

}  // namespace kiln::bench
