// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <kiln/kiln.hpp>

#include "driver/context.hpp"
#include "driver/memory.hpp"
#include "driver/stream.hpp"
#include "model/planner.hpp"
#include "support/random_case.hpp"

/// What GPU tests share: device memory, and forwards over poisoned memory. No Catch2 in it: benchmarks use it too.
namespace kiln::test {

/// The GPU that the tests use, device 0.
[[nodiscard]] const driver::Context& device_context();
[[nodiscard]] Arch device_arch();
void synchronise_device();

[[nodiscard]] inline std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

/// A NaN of our own, so that what was not written shows.
inline constexpr std::uint32_t poison_bits = 0x7fc0dead;

/// Device memory of `count` values.
template <typename T>
class DeviceArray {
public:
    explicit DeviceArray(std::size_t count);
    [[nodiscard]] T* data() const { return reinterpret_cast<T*>(memory_.address()); }
    [[nodiscard]] std::size_t size() const { return count_; }
    void upload(std::span<const T> values, std::size_t offset = 0);
    void fill(std::uint32_t bits);
    [[nodiscard]] std::vector<T> download() const;

private:
    std::size_t count_;
    driver::DeviceMemory memory_;
};
extern template class DeviceArray<float>;

/// The legal plans of a spec on this GPU, the best first; with KILN_TEST_FAMILY=mma_sync in the environment, of that family
/// alone.
[[nodiscard]] std::vector<Plan> legal_plans(const ModelSpec& spec);

/// The best of them for each family: what a test of results loops over.
[[nodiscard]] std::vector<Plan> best_plan_of_each_family(const ModelSpec& spec);

/// A family's plans of a spec on this GPU, the best first; none on archs without it.
[[nodiscard]] std::vector<Plan> plans_of_family(const ModelSpec& spec, std::string_view family);

/// About `count` of them, evenly, the first among them.
[[nodiscard]] std::vector<Plan> some_of(std::vector<Plan> plans, std::size_t count);

/// Compiles these plans into the cache on every core, so that the models that follow find them there.
void compile_ahead(const std::vector<ModelSpec>& specs);  ///< the best plan of each family
void compile_ahead(const ModelSpec& spec, const std::vector<Plan>& plans);

/// A model of a case's weights, of a plan or the planner's choice.
[[nodiscard]] Model model_of(const RandomCase& random, const std::optional<Plan>& plan = std::nullopt);

/// One forward of a model in a stream of its own, again and again over poisoned memory.
class Forward {
public:
    /// `offset`: by how many elements x and y are moved from their 256-byte alignment.
    Forward(const Model& model, const RandomCase& random, std::size_t offset = 0);

    void poison();                ///< y, and the partial sums of the workspace
    void start();                 ///< asynchronous
    std::vector<float> finish();  ///< waits, and downloads y
    std::vector<float> run();     ///< poison, start, finish
    std::vector<float> run_without_workspace();
    std::vector<float> run_other(const RandomCase& other);  ///< another input in this workspace

private:
    friend class CapturedForward;
    const Model& model_;
    Shape shape_;
    std::size_t offset_;
    driver::Stream stream_;
    DeviceArray<float> x_, y_;
    Workspace workspace_;
};

enum class Scratch { workspace, pool };

/// A forward captured `repeats` times in a CUDA graph.
class CapturedForward {
public:
    CapturedForward(Forward& forward, int repeats, Scratch scratch = Scratch::workspace);
    void launch() const;

private:
    const Forward& forward_;
    driver::Graph graph_;
};

[[nodiscard]] std::vector<float> forward_once(const RandomCase& random, const Plan& plan, std::size_t offset = 0);

}  // namespace kiln::test
