// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <kiln/export.hpp>

namespace kiln {

/// The instruction set that a cubin is built for, with its suffix: `sm_90a`.
///
/// An open value type: the constants are the archs that Kiln asks for, and `parse` accepts exactly those.
/// Which GPU gets which is one table, `for_compute_capability`. Immutable and thread safe.
class KILN_API Arch {
public:
    static const Arch sm_75;   ///< compute capability 7.5 (Turing)
    static const Arch sm_80;   ///< 8.0 (A100)
    static const Arch sm_86;   ///< 8.6 and 8.7 (RTX 30, Orin)
    static const Arch sm_89;   ///< 8.9 (RTX 40, L4, L40)
    static const Arch sm_90a;  ///< 9.0 (H100, H200)
    static const Arch sm_100;  ///< 10.x (B200, B300)
    static const Arch sm_120;  ///< 12.x (RTX 50)

    /// Reads a name such as "sm_90a".
    /// @throws Error `unsupported_arch` for a name that no GPU of ours would ask for, naming the right one where there is one.
    [[nodiscard]] static Arch parse(std::string_view name);

    /// The arch that a GPU of this compute capability runs.
    /// @throws Error `unsupported_arch` for a capability that Kiln has no arch for.
    [[nodiscard]] static Arch for_compute_capability(int major, int minor);

    /// The name with its suffix: "sm_90a".
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// The number in the name: 75, 80, … 120.
    [[nodiscard]] int number() const noexcept { return number_; }

    friend bool operator==(const Arch& a, const Arch& b) noexcept { return a.name_ == b.name_; }
    friend bool operator<(const Arch& a, const Arch& b) noexcept { return a.number_ < b.number_; }

private:
    Arch(std::string name, int number);
    friend struct ArchTable;

    std::string name_;
    int number_;
};

}  // namespace kiln
