// SPDX-License-Identifier: Apache-2.0
#include "candidate_run.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/spec_json.hpp"
#include "timed_plan.hpp"

namespace kiln::bench {

namespace {

using Json = nlohmann::ordered_json;

/// One candidate's results.
struct Measured {
    const Plan* plan;
    std::string name;
    Json json;
    double us = 0;  ///< 0: it could not be measured
};

/// Whether two kernels' sums agree: for sigmoid and logits of deviation 2, a kernel that forgets to pool is off by 1e-4 to 1e-3.
bool agree(const std::vector<float>& a, const std::vector<float>& b, const ModelSpec& spec) {
    const bool is_identity = spec.activation == Activation::identity;  // sums of values of both signs, which cancel
    double scale = 0;
    for (const float value : a) scale = std::max(scale, std::abs(static_cast<double>(value)));
    const double tolerance = (spec.math == Math::tf32 ? 2e-3 : 2e-5) * (is_identity ? 10 : 1);
    for (std::size_t n = 0; n < a.size(); ++n) {
        const double size = is_identity ? scale : std::abs(static_cast<double>(a[n]));
        if (!(std::abs(static_cast<double>(a[n]) - b[n]) <= tolerance * size)) return false;
    }
    return true;
}

Json plan_to_json(const Plan& plan) {
    return {{"family", plan.family->name()},
            {"tile", to_string(plan.candidate.tile)},
            {"predicted_us", plan.candidate.predicted_us},
            {"limiter", plan.candidate.limiter}};
}

class Run {
public:
    Run(const driver::Context& context, const Job& job, std::size_t rounds)
        : job_(job), rounds_(rounds), data_(context, job.candidate) {
        for (const Plan* plan : job.plans()) measured_.push_back({plan, name_of(*plan), plan_to_json(*plan)});
    }

    Json result() {
        for (Measured& each : measured_) measure(each);
        measure_finalists();
        return told();
    }

private:
    void measure(Measured& measured) {
        Json& json = measured.json;
        try {
            if (const auto error = job_.errors.find(measured.name); error != job_.errors.end())
                throw std::runtime_error(error->second);
            TimedPlan timed(data_, *measured.plan);
            const KernelReport report = timed.report();
            timed.run();
            timed.run();
            const bool is_slow = best_us_ > 0 && timed.median_us() > 2 * best_us_;
            while (timed.rounds() < (is_slow ? 2 : rounds_)) timed.run();
            measured.us = timed.median_us();
            if (best_us_ == 0 || measured.us < best_us_) best_us_ = measured.us;
            if (sums_.empty()) sums_ = timed.sums();
            json["measured_us"] = measured.us;
            json["registers"] = report.registers;
            json["spilled_bytes"] = report.spilled_bytes;
            json["agrees"] = agree(sums_, timed.sums(), job_.candidate.spec);
        } catch (const std::exception& error) {
            json["error"] = error.what();
        }
    }

    /// The choices, the best of SIMT and the three fastest, interleaved: only such times compare.
    void measure_finalists() {
        std::vector<const Measured*> fastest;
        for (const Measured& each : measured_) {
            if (each.us > 0) fastest.push_back(&each);
        }
        std::sort(fastest.begin(), fastest.end(), [](const Measured* a, const Measured* b) { return a->us < b->us; });
        std::set<const Measured*> wanted(fastest.begin(),
                                         fastest.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, fastest.size())));
        for (const Measured* each : {chosen(), untold(), simt()}) {
            if (each != nullptr) wanted.insert(each);
        }
        std::vector<std::pair<Measured*, TimedPlan>> finalists;
        for (Measured& each : measured_) {
            if (wanted.count(&each) > 0) finalists.emplace_back(&each, TimedPlan(data_, *each.plan));
        }
        for (std::size_t round = 0; round < 2 * rounds_; ++round) {
            for (auto& [measured, timed] : finalists) timed.run();
        }
        for (auto& [measured, timed] : finalists) measured->us = measured->json["measured_us"] = timed.median_us();
    }

    [[nodiscard]] const Measured* find(std::string_view name) const {
        const auto found =
            std::find_if(measured_.begin(), measured_.end(), [&](const Measured& each) { return each.name == name; });
        return found != measured_.end() && found->us > 0 ? &*found : nullptr;
    }
    [[nodiscard]] const Measured* chosen() const { return find(name_of(job_.told.front())); }
    [[nodiscard]] const Measured* untold() const { return find(name_of(job_.untold.front())); }
    /// The SIMT kernel that would be chosen if there were no other family.
    [[nodiscard]] const Measured* simt() const {
        const auto found =
            std::find_if(job_.told.begin(), job_.told.end(), [](const Plan& plan) { return plan.family->name() == "simt"; });
        return found == job_.told.end() ? nullptr : find(name_of(*found));
    }

    [[nodiscard]] Json told() const {
        const Measured* best = nullptr;
        bool all_agree = true;
        Json candidates = Json::array();
        for (const Measured& each : measured_) {
            if (each.us > 0 && (best == nullptr || each.us < best->us)) best = &each;
            all_agree = all_agree && each.json.value("agrees", false);
            candidates.push_back(each.json);
        }
        Json result{{"name", job_.candidate.name},
                    {"is_benchmark_shape", job_.candidate.is_benchmark_shape},
                    {"spec", spec_to_json(job_.candidate.spec)},
                    {"legal", job_.legal},
                    {"measured", measured_.size()},
                    {"all_agree", all_agree}};
        const auto tell = [&](const char* role, const Measured* measured) {
            result[role] = nullptr;
            if (measured == nullptr || best == nullptr) return;
            result[role] = {{"kernel", measured->name}, {"us", measured->us}, {"over_best", measured->us / best->us}};
        };
        tell("best", best);
        tell("chosen", chosen());
        tell("without_expected", untold());
        tell("simt", simt());
        result["candidates"] = candidates;
        return result;
    }

    const Job& job_;
    std::size_t rounds_;
    BenchData data_;
    std::vector<Measured> measured_;
    std::vector<float> sums_;
    double best_us_ = 0;
};

}  // namespace

Json measure_job(const driver::Context& context, const Job& job, std::size_t rounds) {
    return Run(context, job, rounds).result();
}

}  // namespace kiln::bench
