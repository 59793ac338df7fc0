// SPDX-License-Identifier: Apache-2.0
#include "kiln/kernel_json.hpp"

#include <fmt/format.h>

#include "model/spec_json.hpp"

namespace kiln::tools {
namespace {

std::string size_text(const Size2& size) {
    return size.height == size.width ? std::to_string(size.height) : fmt::format("{}x{}", size.height, size.width);
}

}  // namespace

nlohmann::ordered_json kernel_to_json(const KernelReport& report) {
    nlohmann::ordered_json kernel{{"key", report.key},
                                  {"arch", report.arch},
                                  {"family", report.family},
                                  {"tile", report.tile},
                                  {"origin", to_string(report.origin)},
                                  {"miss_reason", nullptr},
                                  {"compile_ms", report.compile_ms},
                                  {"load_ms", report.load_ms},
                                  {"registers", report.registers},
                                  {"spilled_bytes", report.spilled_bytes},
                                  {"shared_bytes", report.shared_bytes},
                                  {"cubin_bytes", report.cubin_bytes},
                                  {"toolchain", report.toolchain},
                                  {"note", report.note},
                                  {"error", nullptr}};
    if (!report.miss_reason.empty()) kernel["miss_reason"] = report.miss_reason;
    return kernel;
}

nlohmann::ordered_json warm_to_json(const WarmReport& report) {
    nlohmann::ordered_json kernel = kernel_to_json(report.kernel);
    kernel["arch"] = report.arch.name();
    kernel["spec"] = spec_to_json(report.spec);
    kernel["on_disk"] = report.on_disk;
    if (report.error || report.stopped) kernel["origin"] = nullptr;
    if (report.stopped) kernel["error"] = {{"code", "interrupted"}, {"message", "the warm was interrupted before its turn"}};
    if (report.error) {
        kernel["error"] = {{"code", to_string(report.error->code())}, {"message", report.error->what()}};
        if (!report.error->log().empty()) kernel["error"]["log"] = report.error->log();
    }
    return kernel;
}

std::string kernel_sentence(const KernelReport& report) {
    std::string text = fmt::format("{} ({}) for {}, ", report.family, report.tile, report.arch);
    if (report.origin == Origin::compiled) {
        text += fmt::format("compiled in {:.0f} ms", report.compile_ms);
        if (!report.miss_reason.empty()) text += fmt::format(" because {}", report.miss_reason);
    } else {
        text += fmt::format("from the cache ({})", to_string(report.origin));
    }
    if (!report.note.empty()) text += "; " + report.note;
    return text;
}

std::string spec_sentence(const ModelSpec& spec) {
    std::string text = fmt::format("{}→{}, kernel {}, pool {}", spec.in_channels, spec.out_channels, size_text(spec.kernel_size),
                                   size_text(spec.pool_kernel_size));
    if (spec.stride != Size2(1)) text += fmt::format(", stride {}", size_text(spec.stride));
    if (spec.padding != Size2(0)) text += fmt::format(", padding {}", size_text(spec.padding));
    if (spec.dilation != Size2(1)) text += fmt::format(", dilation {}", size_text(spec.dilation));
    if (!spec.bias) text += ", no bias";
    if (spec.activation != Activation::sigmoid) text += fmt::format(", {}", name_of(spec.activation));
    if (spec.math != Math::fp32) text += fmt::format(", {}", name_of(spec.math));
    return text;
}

}  // namespace kiln::tools
