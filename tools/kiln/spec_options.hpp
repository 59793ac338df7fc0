// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <kiln/arch.hpp>
#include <kiln/spec.hpp>

namespace kiln::tools {

/// SPEC: a model's constructor arguments on the command line.
///
/// Values stay text until they are asked for, so that a size no integer holds is answered like any other that is out of range.
class SpecOptions {
public:
    /// Adds the options; `required` says in the help that the sizes without a default must be given.
    void add_to(CLI::App& command, bool required = true);

    /// Whether any of them was given.
    [[nodiscard]] bool given() const;

    /// The spec, with `expected` from --shape. Not validated: the library does that, and names fields as ModelSpec does.
    [[nodiscard]] ModelSpec spec() const;

    /// --shape N,H,W, if it was given.
    [[nodiscard]] std::optional<Shape> shape() const;

private:
    std::string in_channels_, out_channels_, kernel_, pool_;
    std::string stride_ = "1", padding_ = "0", dilation_ = "1", shape_;
    std::string activation_ = "sigmoid", math_ = "fp32";
    bool no_bias_ = false;
    std::vector<CLI::Option*> options_;
};

/// "3" or "3x5". Text that is no size is wrong usage; a number that 64 bits do not hold is an `invalid_argument` that names the
/// field.
[[nodiscard]] Size2 parse_size2(std::string_view option, std::string_view field, std::string_view text);
[[nodiscard]] std::int64_t parse_integer(std::string_view option, std::string_view field, std::string_view text);
[[nodiscard]] Shape parse_shape(std::string_view option, std::string_view text);

/// An arch by its name, or `native`; wrong usage, saying which is right, for a name that no GPU would ask for.
[[nodiscard]] Arch parse_arch(const std::string& name);

/// --arch sm_90a[,sm_80…]
class ArchOptions {
public:
    void add_to(CLI::App& command, bool several);

    /// `native` is the GPU that is present. A name that Kiln does not build for is wrong usage, and the message has the right
    /// one.
    [[nodiscard]] std::vector<Arch> archs() const;

private:
    std::vector<std::string> names_;
    bool several_ = false;
};

}  // namespace kiln::tools
