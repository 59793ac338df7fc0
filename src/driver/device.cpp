// SPDX-License-Identifier: Apache-2.0
#include "driver/device.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "driver/arch_table.hpp"
#include "driver/errors.hpp"

namespace kiln::driver {
namespace {

/// As nvidia-smi prints it: groups of 4, 2, 2, 2 and 6 bytes.
std::string uuid_text(const CUuuid& uuid) {
    std::string text = "GPU";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
    }
    return text;
}

Result<Device> describe(const EntryPoints& cuda, int ordinal) {
    Device device;
    device.ordinal = ordinal;
    CUresult first_refusal = CUDA_SUCCESS;
    const auto ask = [&](CUresult result) {
        if (first_refusal == CUDA_SUCCESS) first_refusal = result;
        return result == CUDA_SUCCESS;
    };
    int has_memory_pools = 0;
    const auto attribute = [&](int& value, CUdevice_attribute which) {
        ask(cuda.device_get_attribute(&value, which, device.handle));
    };

    if (ask(cuda.device_get(&device.handle, ordinal))) {
        std::array<char, 256> name{};
        ask(cuda.device_get_name(name.data(), static_cast<int>(name.size() - 1), device.handle));
        device.name = name.data();
        CUuuid uuid{};
        ask(cuda.device_get_uuid(&uuid, device.handle));
        device.uuid = uuid_text(uuid);
        ask(cuda.device_total_mem(&device.memory_bytes, device.handle));
        attribute(device.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        attribute(device.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        attribute(device.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        attribute(device.shared_bytes_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
        attribute(device.shared_bytes_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
        attribute(device.l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
        attribute(has_memory_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    }
    if (first_refusal != CUDA_SUCCESS) return fail_call(cuda, first_refusal, fmt::format("asking about GPU {}", ordinal));
    device.has_memory_pools = has_memory_pools != 0;
    constexpr int first_with_early_starts_in_graphs = 12030;
    int version = 0;
    if (device.major >= 9 && cuda.driver_get_version(&version) == CUDA_SUCCESS) {
        device.has_early_starts = version >= first_with_early_starts_in_graphs;
    }
    if (auto arch = ArchTable::for_compute_capability(device.major, device.minor)) device.arch = std::move(*arch);
    return device;
}

}  // namespace

Result<int> device_count() {
    auto cuda = entry_points();
    if (!cuda) {
        if (cuda.error().code == ErrorCode::no_device) return 0;
        return pass_on(cuda);
    }
    int count = 0;
    if (auto counted = check(**cuda, (*cuda)->device_get_count(&count), "counting GPUs"); !counted) return pass_on(counted);
    return count;
}

Result<const Device*> device(int ordinal) {
    static std::mutex mutex;  // not reached in a forked child
    static std::map<int, std::unique_ptr<const Device>> known;

    auto cuda = entry_points();
    if (!cuda) return pass_on(cuda);
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(ordinal); found != known.end()) return found->second.get();

    auto count = device_count();
    if (!count) return pass_on(count);
    if (ordinal < 0 || ordinal >= *count) {
        return fail(ErrorCode::no_device, "there is no GPU {}: the driver has {}", ordinal,
                    *count == 0   ? std::string("none")
                    : *count == 1 ? std::string("one, GPU 0")
                                  : fmt::format("GPUs 0 to {}", *count - 1));
    }
    auto described = describe(**cuda, ordinal);
    if (!described) return pass_on(described);
    return known.emplace(ordinal, std::make_unique<const Device>(std::move(*described))).first->second.get();
}

Result<Arch> arch_of(const Device& device) {
    if (device.arch) return *device.arch;
    return fail(ErrorCode::unsupported_arch, "GPU {} ({}): {}", device.ordinal, device.name,
                ArchTable::for_compute_capability(device.major, device.minor).error().message);
}

}  // namespace kiln::driver
