// SPDX-License-Identifier: Apache-2.0
// kiln doctor: what was found on this machine, and what to do about what was not.
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cache/configuration.hpp"
#include "cache/entry_files.hpp"
#include "cache/own_directory.hpp"
#include "cache/trust.hpp"
#include "driver/device.hpp"
#include "driver/driver.hpp"
#include "jit/nvrtc.hpp"
#include "kiln/program.hpp"

namespace kiln::tools {
namespace {

using nlohmann::ordered_json;

/// The diagnosis as it is printed: facts by topic, and what is wrong with what to do about it.
class Diagnosis {
public:
    void fact(const std::string& topic, const std::string& text) { lines_.push_back({topic, text}); }
    void problem(const std::string& topic, const std::string& what, const std::string& advice) {
        lines_.push_back({topic, "! " + what});
        advice_.push_back({topic, what, advice});
    }

    ordered_json document = ordered_json::object();

    void print(Program& program) const {
        if (program.json) {
            ordered_json whole = document;
            whole["problems"] = ordered_json::array();
            for (const Advice& each : advice_) {
                whole["problems"].push_back({{"topic", each.topic}, {"message", each.what}, {"advice", each.advice}});
            }
            program.out.write_json(whole);
            return;
        }
        program.out.write(table_text(lines_));
        if (advice_.empty()) program.out.write_line("\nNothing is missing.");
        for (const Advice& each : advice_) program.out.write_line(fmt::format("\n{}: {}", each.topic, each.advice));
    }

private:
    struct Advice {
        std::string topic, what, advice;
    };
    std::vector<std::vector<std::string>> lines_;
    std::vector<Advice> advice_;
};

std::string advice_for_driver(ErrorCode code) {
    switch (code) {
        case ErrorCode::no_driver:
            return "to run on a GPU, install NVIDIA's driver, 525 or newer, or name its libcuda with KILN_CUDA_LIBRARY; "
                   "`kiln warm` and `--device cpu` need none";
        case ErrorCode::no_device:
            return "nvidia-smi should list a GPU; a container must be started with access to it (--gpus all), and "
                   "CUDA_VISIBLE_DEVICES "
                   "must not hide it";
        default: return "nvidia-smi may say more; reloading the driver or restarting the machine may help";
    }
}

/// The archs of the GPUs that are there.
std::vector<Arch> look_for_gpus(Diagnosis& diagnosis) {
    std::vector<Arch> archs;
    diagnosis.document["driver"] = nullptr;
    diagnosis.document["gpus"] = ordered_json::array();
    const auto library = driver::open_library();
    if (!library) {
        diagnosis.problem("driver", library.error().message, advice_for_driver(library.error().code));
        return archs;
    }
    const std::string version = driver::version_text((*library)->version);
    diagnosis.fact("driver", fmt::format("CUDA {} ({})", version, (*library)->path));
    diagnosis.document["driver"] = {{"cuda_version", version}, {"path", (*library)->path}};
    auto count = driver::device_count();
    if (count && *count == 0) count = fail(ErrorCode::no_device, "the driver finds no GPU");
    if (!count) {
        diagnosis.problem("gpu", count.error().message, advice_for_driver(count.error().code));
        return archs;
    }
    for (int ordinal = 0; ordinal < *count; ++ordinal) {
        const auto found = driver::device(ordinal);
        if (!found) {
            diagnosis.problem("gpu", found.error().message, advice_for_driver(found.error().code));
            continue;
        }
        const driver::Device& device = **found;
        const std::string arch = device.arch ? device.arch->name() : "none";
        diagnosis.fact("gpu", fmt::format("cuda:{} {}, compute capability {}.{}, arch {}, {} SMs, {:.1f} GiB", ordinal,
                                          device.name, device.major, device.minor, arch, device.multiprocessors,
                                          static_cast<double>(device.memory_bytes) / (1 << 30)));
        diagnosis.document["gpus"].push_back({{"device", fmt::format("cuda:{}", ordinal)},
                                              {"name", device.name},
                                              {"uuid", device.uuid},
                                              {"compute_capability", fmt::format("{}.{}", device.major, device.minor)},
                                              {"arch", device.arch ? ordered_json(arch) : ordered_json(nullptr)},
                                              {"multiprocessors", device.multiprocessors},
                                              {"memory_bytes", device.memory_bytes}});
        if (device.arch) archs.push_back(*device.arch);
        if (!device.arch) {
            diagnosis.problem("gpu", driver::arch_of(device).error().message,
                              "this GPU cannot be used; others, and `--device cpu`, can");
        }
    }
    return archs;
}

void look_for_nvrtc(Diagnosis& diagnosis, const std::vector<Arch>& needed) {
    diagnosis.document["nvrtc"] = nullptr;
    const auto nvrtc = jit::describe_nvrtc();
    if (!nvrtc) {
        diagnosis.problem(
            "nvrtc", nvrtc.error().message,
            "to compile kernels, install a CUDA toolkit 12.0 or newer or NVIDIA's wheel (pip install nvidia-cuda-nvrtc), or name "
            "libnvrtc with KILN_NVRTC_LIBRARY; kernels that are in the cache run without");
        return;
    }
    std::vector<std::string> names;
    for (const Arch& arch : nvrtc->supported_archs()) names.push_back(arch.name());
    diagnosis.fact("nvrtc", fmt::format("{} ({})", nvrtc->version(), nvrtc->path));
    diagnosis.fact("", fmt::format("builds for {}", fmt::join(names, ", ")));
    diagnosis.document["nvrtc"] = {{"version", nvrtc->version()}, {"path", nvrtc->path}, {"archs", names}};
    for (const Arch& arch : needed) {
        if (nvrtc->supports(arch)) continue;
        diagnosis.problem("nvrtc",
                          fmt::format("NVRTC {} cannot build for {}, which a GPU here needs", nvrtc->version(), arch.name()),
                          "install a newer CUDA toolkit, or warm the cache on a machine that has one");
    }
}

/// Whether something could be made at this path, judged by the first of its parents that exists.
bool can_be_made(std::filesystem::path path) {
    std::error_code error;
    while (!std::filesystem::exists(path, error) && path.has_relative_path()) path = path.parent_path();
    return ::access(path.c_str(), W_OK | X_OK) == 0;
}

constexpr const char* cache_advice =
    "name a directory of your own with KILN_CACHE_DIR; models run without one, and compile in every process";

/// No problem where layers hold the kernels and strict mode keeps none.
void missing_directory(Diagnosis& diagnosis, const CacheConfiguration& configuration, const std::string& what) {
    if (configuration.strict && !configuration.layers.empty()) {
        diagnosis.fact("cache", what + "; strict mode needs none beside the layers");
    } else {
        diagnosis.problem("cache", what, cache_advice);
    }
}

void look_at_own_directory(Diagnosis& diagnosis, const CacheConfiguration& configuration, ordered_json& document) {
    const OwnDirectory own(configuration);
    document["path"] = own.path();
    const auto opened = own.open();
    if (!opened && opened.error().reason != MissReason::absent) {
        diagnosis.problem("cache", opened.error().what, cache_advice);
        document["state"] = "unusable";
        return;
    }
    if (!opened) {
        const bool possible = can_be_made(own.path());
        document["state"] = possible ? "absent" : "unwritable";
        if (possible) diagnosis.fact("cache", fmt::format("{} (made when the first kernel is kept)", own.path()));
        if (!possible) missing_directory(diagnosis, configuration, fmt::format("{} is not there and cannot be made", own.path()));
        return;
    }
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    (void)entry_files::for_each(opened->get(), [&](const entry_files::File& file) {
        if (file.key_name.empty()) return;
        ++entries;
        bytes += static_cast<std::uint64_t>(file.facts.st_size);
    });
    const bool writable = ::faccessat(opened->get(), ".", W_OK | X_OK, AT_EACCESS) == 0;
    document["state"] = writable ? "writable" : "unwritable";
    document["entries"] = entries;
    document["bytes"] = bytes;
    diagnosis.fact("cache", fmt::format("{}: {} kernels, {:.1f} MiB of at most {:.1f} GiB", own.path(), entries,
                                        static_cast<double>(bytes) / (1 << 20),
                                        static_cast<double>(configuration.maximum_bytes) / (1 << 30)));
    if (!writable && configuration.mode == CacheMode::read_write) {
        diagnosis.problem("cache", fmt::format("{} cannot be written to", own.path()), cache_advice);
    }
}

std::string objection_to_layer(const std::string& path) {
    struct stat facts {};
    struct statvfs mount {};
    if (::stat(path.c_str(), &facts) != 0)
        return fmt::format("{} cannot be reached: {}", path, std::generic_category().message(errno));
    if (::access(path.c_str(), R_OK) != 0)
        return fmt::format("{} cannot be read: {}", path, std::generic_category().message(errno));
    const bool read_only = ::statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0;
    return trust::objection_to_layer(facts, read_only, path);
}

void look_at_cache(Diagnosis& diagnosis) {
    ordered_json document = ordered_json::object();
    const auto configuration = resolve(CacheOptions{});
    if (!configuration) {
        diagnosis.problem("cache", configuration.error().message, "correct the environment");
        diagnosis.document["cache"] = nullptr;
        return;
    }
    constexpr std::array modes{"rw", "ro", "off"};
    document["mode"] = modes.at(static_cast<std::size_t>(configuration->mode));
    document["strict"] = configuration->strict;
    document["layers"] = ordered_json::array();
    for (const std::string& layer : configuration->layers) {
        const std::string objection = configuration->trust_named_paths ? std::string() : objection_to_layer(layer);
        document["layers"].push_back(
            {{"path", layer}, {"problem", objection.empty() ? ordered_json(nullptr) : ordered_json(objection)}});
        if (objection.empty()) diagnosis.fact("layer", layer);
        if (!objection.empty()) diagnosis.problem("layer", objection, "mend it, or take it out of KILN_CACHE_LAYERS");
    }
    if (configuration->directory.empty()) {
        missing_directory(diagnosis, *configuration, configuration->why_no_directory);
        document["state"] = "none";
    } else {
        look_at_own_directory(diagnosis, *configuration, document);
    }
    if (configuration->mode != CacheMode::read_write)
        diagnosis.fact("", fmt::format("mode {}", document["mode"].get<std::string>()));
    diagnosis.document["cache"] = document;
}

void look_at_environment(Diagnosis& diagnosis) {
    diagnosis.document["environment"] = ordered_json::object();
    for (const char* name : {"KILN_CACHE_DIR", "KILN_CACHE", "KILN_CACHE_LAYERS", "KILN_CACHE_MAX_SIZE", "KILN_CACHE_TRUST",
                             "KILN_STRICT", "KILN_TOOLCHAIN", "KILN_LOG", "KILN_CUDA_LIBRARY", "KILN_NVRTC_LIBRARY"}) {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') continue;
        diagnosis.fact("environment", fmt::format("{}={}", name, value));
        diagnosis.document["environment"][name] = value;
    }
}

}  // namespace

void add_doctor(Program& program) {
    CLI::App& command =
        program.add_command(program.app, "doctor", "what was found on this machine, and what to do about what was not");
    command.callback([&program] {
        program.command = [&program] {
            Diagnosis diagnosis;
            diagnosis.fact("kiln", program.version);
            diagnosis.document["version"] = program.version;
            const std::vector<Arch> archs = look_for_gpus(diagnosis);
            look_for_nvrtc(diagnosis, archs);
            look_at_cache(diagnosis);
            look_at_environment(diagnosis);
            diagnosis.print(program);
            return ExitStatus::done;
        };
    });
}

}  // namespace kiln::tools
