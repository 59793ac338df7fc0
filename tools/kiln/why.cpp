// SPDX-License-Identifier: Apache-2.0
// kiln why: whether a kernel would be a hit or be compiled, and what differs from the nearest one that is there.
#include <memory>
#include <optional>

#include "cache/kernel_cache.hpp"
#include "jit/nvrtc.hpp"
#include "kiln/program.hpp"
#include "kiln/spec_options.hpp"
#include "model/specialised_kernel.hpp"

namespace kiln::tools {
namespace {

struct WhyOptions {
    SpecOptions spec;
    ArchOptions arch;
};

void print_json(Program& program, const CacheLook& look, const std::optional<Nearest>& nearest) {
    nlohmann::ordered_json document{{"key", look.key.name},
                                    {"hit", look.origin.has_value()},
                                    {"origin", nullptr},
                                    {"miss_reason", nullptr},
                                    {"nearest", nullptr}};
    if (look.origin) document["origin"] = to_string(*look.origin);
    if (!look.origin) document["miss_reason"] = look.miss_reason;
    if (nearest) {
        nlohmann::ordered_json differences = nlohmann::ordered_json::array();
        for (const Difference& each : nearest->differences) {
            differences.push_back({{"field", each.field}, {"wanted", each.wanted}, {"found", each.found}});
        }
        document["nearest"] = {{"key", nearest->key_name}, {"path", nearest->path}, {"differences", differences}};
    }
    program.out.write_json(document);
}

ExitStatus run_why(Program& program, const WhyOptions& options) {
    const ModelSpec spec = options.spec.spec();
    validate(spec);
    const auto kernel = value_or_throw(specialise_best(spec, options.arch.archs().front()));
    const auto cache = value_or_throw(KernelCache::open(CacheOptions{}, jit::nvrtc_build_id));
    const CacheLook look = cache->look(kernel->request);
    const auto nearest = look.origin ? std::nullopt : cache->nearest(kernel->request);
    if (program.json) {
        print_json(program, look, nearest);
    } else if (look.origin) {
        program.out.write_line(fmt::format("hit: {} is in the cache ({}), built by NVRTC {}", look.key.name,
                                           to_string(*look.origin), look.toolchain));
    } else {
        program.out.write_line(
            fmt::format("miss: {} {}: {}", look.key.name,
                        cache->configuration().strict ? "would not be compiled, which strict mode forbids" : "would be compiled",
                        look.miss_reason));
        if (nearest) program.out.write_line(fmt::format("nearest: {}: {}", nearest->key_name, nearest->text()));
    }
    return ExitStatus::done;
}

}  // namespace

void add_why(Program& program) {
    CLI::App& command = program.add_command(program.app, "why", "whether a kernel is in the cache, and if not, why not");
    auto options = std::make_shared<WhyOptions>();
    options->spec.add_to(command);
    options->arch.add_to(command, false);
    command.callback([&program, options] { program.command = [&program, options] { return run_why(program, *options); }; });
}

}  // namespace kiln::tools
