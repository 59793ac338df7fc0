// SPDX-License-Identifier: Apache-2.0
// kiln source: a kernel's source as it is compiled.
#include <memory>

#include "kiln/program.hpp"
#include "kiln/spec_options.hpp"
#include "model/planner.hpp"
#include "model/specialised_kernel.hpp"

namespace kiln::tools {
namespace {

struct SourceOptions {
    SpecOptions spec;
    ArchOptions arch;
};

ExitStatus run_source(Program& program, const SourceOptions& options) {
    const ModelSpec spec = options.spec.spec();
    validate(spec);
    const auto kernel = value_or_throw(specialise_best(spec, options.arch.archs().front()));
    const KernelRequest& request = kernel->request;
    if (program.json) {
        program.out.write_json({{"arch", request.arch.name()},
                                {"family", request.family},
                                {"tile", request.tile},
                                {"options", request.options},
                                {"source", request.source}});
    } else {
        program.out.write(request.source);
    }
    return ExitStatus::done;
}

}  // namespace

void add_source(Program& program) {
    CLI::App& command = program.add_command(program.app, "source", "a kernel's source as it is compiled");
    auto options = std::make_shared<SourceOptions>();
    options->spec.add_to(command);
    options->arch.add_to(command, false);
    command.callback([&program, options] { program.command = [&program, options] { return run_source(program, *options); }; });
}

}  // namespace kiln::tools
