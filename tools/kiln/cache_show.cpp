// SPDX-License-Identifier: Apache-2.0
// kiln cache show: one entry, read and verified whole.
#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

#include "cache/key.hpp"
#include "driver/cubin.hpp"
#include "jit/compiler.hpp"
#include "kiln/cache_json.hpp"
#include "kiln/cache_places.hpp"
#include "kiln/program.hpp"

namespace kiln::tools {
namespace {

struct ShowArguments {
    std::string key;
    std::string cubin_file;
};

void write_cubin(const std::string& file, ByteView cubin) {
    errno = 0;
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    const std::string_view text = as_text(cubin);
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    stream.close();
    if (stream) return;
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: cannot be written: {}", file, std::generic_category().message(errno != 0 ? errno : EIO)));
}

void print_json(Program& program, const CachePlaces::Found& found, const KeyFields& fields, const driver::CubinInfo& cubin) {
    const Entry& entry = found.entry;
    program.out.write_json({{"key", entry.key.name},
                            {"path", found.path},
                            {"origin", to_string(found.origin)},
                            {"arch", fields.arch},
                            {"family", fields.family},
                            {"tile", fields.tile},
                            {"options", fields.options},
                            {"build_id", fields.build_id},
                            {"toolchain", entry.facts.toolchain},
                            {"spec", stored_spec(entry.facts.spec_json)},
                            {"registers", cubin.registers},
                            {"spilled_bytes", cubin.local_bytes},
                            {"static_shared_bytes", cubin.static_shared_bytes},
                            {"cubin_bytes", entry.cubin.size()},
                            {"source_bytes", fields.source.size()},
                            {"source", fields.source}});
}

void print_text(Program& program, const CachePlaces::Found& found, const KeyFields& fields, const driver::CubinInfo& cubin) {
    const Entry& entry = found.entry;
    std::vector<std::vector<std::string>> rows{{"key", entry.key.name},
                                               {"place", fmt::format("{} ({})", found.path, to_string(found.origin))},
                                               {"arch", std::string(fields.arch)},
                                               {"family", std::string(fields.family)},
                                               {"tile", std::string(fields.tile)},
                                               {"options", std::string(fields.options)}};
    if (!fields.build_id.empty()) rows.push_back({"build-id", std::string(fields.build_id)});
    rows.push_back({"toolchain", entry.facts.toolchain});
    rows.push_back({"spec", entry.facts.spec_json});
    rows.push_back({"cubin", fmt::format("{} bytes: {} registers, {} bytes spilled, {} bytes of static shared memory",
                                         entry.cubin.size(), cubin.registers, cubin.local_bytes, cubin.static_shared_bytes)});
    rows.push_back({"source", fmt::format("{} bytes (--json prints it)", fields.source.size())});
    program.out.write(table_text(rows));
}

ExitStatus run_show(Program& program, const ShowArguments& arguments) {
    const CachePlaces places(cache_configuration());
    const CachePlaces::Found found = places.find(arguments.key);
    if (!arguments.cubin_file.empty()) write_cubin(arguments.cubin_file, found.entry.cubin);
    const KeyFields fields = parse_key(found.entry.key.text).value_or(KeyFields{});
    const driver::CubinInfo cubin = value_or_throw(driver::inspect_cubin(found.entry.cubin, jit::kernel_name));
    if (program.json) {
        print_json(program, found, fields, cubin);
    } else {
        print_text(program, found, fields, cubin);
    }
    return ExitStatus::done;
}

}  // namespace

void add_cache_show(Program& program, CLI::App& group) {
    CLI::App& command = program.add_command(group, "show", "one kernel: what it is made from, and by what");
    auto arguments = std::make_shared<ShowArguments>();
    command.add_option("key", arguments->key, "its key, or as much of it as tells it from the others")
        ->required()
        ->type_name("KEY");
    command.add_option("--cubin", arguments->cubin_file, "where to write the cubin, for cuobjdump or nvdisasm")
        ->type_name("FILE");
    command.callback(
        [&program, arguments] { program.command = [&program, arguments] { return run_show(program, *arguments); }; });
}

}  // namespace kiln::tools
