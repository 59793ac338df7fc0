// SPDX-License-Identifier: Apache-2.0
#include <kiln/arch.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "driver/arch_table.hpp"

namespace kiln {

Arch::Arch(std::string name, int number) : name_(std::move(name)), number_(number) {}

// Made before other static objects, some of which may be models.
const Arch Arch::sm_75 [[gnu::init_priority(101)]]{"sm_75", 75};
const Arch Arch::sm_80 [[gnu::init_priority(101)]]{"sm_80", 80};
const Arch Arch::sm_86 [[gnu::init_priority(101)]]{"sm_86", 86};
const Arch Arch::sm_89 [[gnu::init_priority(101)]]{"sm_89", 89};
const Arch Arch::sm_90a [[gnu::init_priority(101)]]{"sm_90a", 90};
const Arch Arch::sm_100 [[gnu::init_priority(101)]]{"sm_100", 100};
const Arch Arch::sm_120 [[gnu::init_priority(101)]]{"sm_120", 120};

namespace {

constexpr std::array every_arch{&Arch::sm_75,  &Arch::sm_80,  &Arch::sm_86, &Arch::sm_89,
                                &Arch::sm_90a, &Arch::sm_100, &Arch::sm_120};

/// Which GPUs an arch serves. A cubin runs on later minor versions of its major one; sm_86 and sm_89 have rows of their own
/// because code built for them may use more than sm_80 has, and sm_90a because `wgmma` exists only with the suffix.
struct Row {
    int major;
    int first_minor;
    int last_minor;
    const Arch* arch;
};
constexpr std::array table{
    Row{7, 5, 5, &Arch::sm_75},  Row{8, 0, 0, &Arch::sm_80},   Row{8, 6, 7, &Arch::sm_86},   Row{8, 9, 9, &Arch::sm_89},
    Row{9, 0, 0, &Arch::sm_90a}, Row{10, 0, 9, &Arch::sm_100}, Row{12, 0, 9, &Arch::sm_120},
};

const Arch* find(int major, int minor) {
    const auto* row = std::find_if(table.begin(), table.end(), [&](const Row& each) {
        return each.major == major && each.first_minor <= minor && minor <= each.last_minor;
    });
    return row == table.end() ? nullptr : row->arch;
}

/// The number in "sm_103f", "compute_80" or "90a", whatever stands around it; nothing where the rest is not an arch's name.
std::optional<int> number_in(std::string_view name) {
    for (const std::string_view prefix : {"sm_", "SM_", "compute_", "lto_", "sm", "SM"}) {
        if (!name.starts_with(prefix)) continue;
        name.remove_prefix(prefix.size());
        break;
    }
    int number = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc{} || number < 10 || number > 999) return std::nullopt;
    const std::string_view suffix(rest, static_cast<std::size_t>(name.data() + name.size() - rest));
    const bool is_known_suffix = suffix.empty() || suffix == "a" || suffix == "f" || suffix == "A" || suffix == "F";
    return is_known_suffix ? std::optional(number) : std::nullopt;
}

std::string all_names() {
    std::string names;
    for (const Arch* arch : every_arch) {
        if (!names.empty()) names += ", ";
        names += arch->name();
    }
    return names;
}

}  // namespace

Result<Arch> ArchTable::parse(std::string_view name) {
    for (const Arch* arch : every_arch) {
        if (arch->name() == name) return *arch;
    }
    if (const auto number = number_in(name)) {
        const int major = *number / 10;
        const int minor = *number % 10;
        if (const Arch* right = find(major, minor)) {
            return fail(ErrorCode::unsupported_arch,
                        "arch '{}' is not one that Kiln builds for: {} serves GPUs of compute capability {}.{}", name,
                        right->name(), major, minor);
        }
    }
    return fail(ErrorCode::unsupported_arch, "arch '{}' is not one that Kiln builds for, which are {}", name, all_names());
}

Result<Arch> ArchTable::for_compute_capability(int major, int minor) {
    if (const Arch* arch = find(major, minor)) return *arch;
    return fail(ErrorCode::unsupported_arch, "Kiln has no arch for a GPU of compute capability {}.{}; it builds for {}", major,
                minor, all_names());
}

std::span<const Arch* const> ArchTable::all() {
    return every_arch;
}

Arch Arch::parse(std::string_view name) {
    return value_or_throw(ArchTable::parse(name));
}

Arch Arch::for_compute_capability(int major, int minor) {
    return value_or_throw(ArchTable::for_compute_capability(major, minor));
}

}  // namespace kiln
