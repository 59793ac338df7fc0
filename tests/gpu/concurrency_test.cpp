// SPDX-License-Identifier: Apache-2.0
// The same bits, however many forwards of one model run at once.
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/gpu.hpp"
#include "support/random_case.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

/// Images that CTAs share, so that partial sums have to meet; and a single image over the whole GPU.
const std::vector<RandomCase>& shared_images() {
    static const std::vector<RandomCase> all{
        drawn_case({.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4}, {7, 200, 204}, 61),
        drawn_case({.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4}, {1, 384, 384}, 67),
        drawn_case({.in_channels = 64, .out_channels = 96, .kernel_size = 3, .pool_kernel_size = 2}, {5, 28, 28}, 71),
        drawn_case({.in_channels = 256, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 2}, {3, 14, 14}, 73),
    };
    return all;
}

}  // namespace

TEST_CASE("the same input a hundred times gives the same bits, over poisoned outputs and workspaces") {
    for (const RandomCase& random : shared_images()) {
        for (const Plan& plan : best_plan_of_each_family(random.spec)) {
            const Model model = model_of(random, plan);
            Forward forward(model, random);
            const std::vector<float> first = forward.run();
            INFO(plan.family->name() << " " << to_string(plan.candidate.tile));
            int different = 0;
            for (int repeat = 0; repeat < 100; ++repeat) different += forward.run() == first ? 0 : 1;
            CHECK(different == 0);
        }
    }
}

TEST_CASE("two streams at once on one model") {
    for (const RandomCase& random : shared_images()) {
        for (const Plan& plan : best_plan_of_each_family(random.spec)) {
            const Model model = model_of(random, plan);
            Forward a(model, random), b(model, random);
            const std::vector<float> expected = a.run();
            for (int repeat = 0; repeat < 50; ++repeat) {
                a.poison(), b.poison();
                for (int burst = 0; burst < 4; ++burst) a.start(), b.start();
                CHECK(a.finish() == expected);
                CHECK(b.finish() == expected);
            }
        }
    }
}

TEST_CASE("many threads share one model") {
    const RandomCase& random = shared_images()[0];
    const Model model = model_of(random);
    const std::vector<float> expected = Forward(model, random).run();
    std::vector<std::vector<float>> results(8);
    {
        std::vector<std::jthread> threads;
        for (auto& result : results) {
            threads.emplace_back([&] {
                Forward forward(model, random);
                for (int repeat = 0; repeat < 20; ++repeat) result = forward.run();
            });
        }
    }
    for (const auto& result : results) CHECK(result == expected);
}

TEST_CASE("a forward is captured in a CUDA graph, and replays of two graphs overlap") {
    for (const RandomCase& random : shared_images()) {
        for (const Plan& plan : best_plan_of_each_family(random.spec)) {
            const Model model = model_of(random, plan);
            Forward a(model, random), b(model, random);
            const std::vector<float> expected = a.run();
            const CapturedForward graph_a(a, 3), graph_b(b, 3);
            for (int repeat = 0; repeat < 20; ++repeat) {
                a.poison(), b.poison();
                graph_a.launch(), graph_b.launch();
                CHECK(a.finish() == expected);
                CHECK(b.finish() == expected);
            }
        }
    }
}

TEST_CASE("a forward sees what the forward in front of it in the stream wrote, though it may start before that one ends") {
    constexpr Shape images{.batch = 24576, .height = 6, .width = 6};  // whose sums are the pixels of one image of another model
    constexpr Shape image{.batch = 1, .height = 48, .width = 64};
    const RandomCase maker =
        drawn_case({.in_channels = 8, .out_channels = 2, .kernel_size = 3, .pool_kernel_size = 2}, images, 81);
    const RandomCase reader =
        drawn_case({.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4}, image, 83);
    for (const Plan& plan : best_plan_of_each_family(maker.spec)) {
        for (const Plan& other_plan : best_plan_of_each_family(reader.spec)) {
            INFO(plan.family->name() << ", then " << other_plan.family->name());
            const Model first = model_of(maker, plan), second = model_of(reader, other_plan);
            Workspace first_workspace = first.workspace(images), second_workspace = second.workspace(image);
            const driver::Stream stream = value_or_throw(driver::Stream::create(device_context()));
            constexpr std::size_t repeats = 60;
            DeviceArray<float> x(maker.input.size()), other_x(maker.input.size()), pixels(24576), y(repeats);
            x.upload(maker.input);
            other_x.upload(std::vector<float>(maker.input.rbegin(), maker.input.rend()));
            const auto forwards = [&](std::size_t repeat, bool waits) {
                first.forward(repeat % 2 == 0 ? x.data() : other_x.data(), pixels.data(), images, stream.handle(),
                              first_workspace);
                if (waits) synchronise_device();
                second.forward(pixels.data(), y.data() + repeat, image, stream.handle(), second_workspace);
            };
            for (std::size_t repeat = 0; repeat < 2; ++repeat) forwards(repeat, true);
            synchronise_device();
            const std::vector<float> expected = y.download();
            CHECK(expected[0] != expected[1]);
            y.fill(poison_bits);
            for (std::size_t repeat = 0; repeat < repeats; ++repeat) forwards(repeat, false);
            synchronise_device();
            const std::vector<float> got = y.download();
            int wrong = 0;
            for (std::size_t repeat = 0; repeat < repeats; ++repeat) wrong += got[repeat] == expected[repeat % 2] ? 0 : 1;
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("without a workspace, scratch comes from the stream's pool") {
    for (const RandomCase& random : shared_images()) {
        for (const Plan& plan : best_plan_of_each_family(random.spec)) {
            const Model model = model_of(random, plan);
            Forward forward(model, random);
            const std::vector<float> expected = forward.run();
            CHECK(forward.run_without_workspace() == expected);
            const CapturedForward graph(forward, 2, Scratch::pool);
            forward.poison();
            graph.launch();
            CHECK(forward.finish() == expected);
        }
    }
}

TEST_CASE("one workspace serves forwards of smaller shapes in turn") {
    const RandomCase& large = shared_images()[0];
    const Model model = model_of(large);
    Forward forward(model, large);
    const std::vector<float> expected = forward.run();
    const RandomCase small = drawn_case(large.spec, {2, 60, 61}, 73);
    Forward other(model, small);
    const std::vector<float> small_expected = other.run();
    CHECK(forward.run_other(small) == small_expected);
    CHECK(forward.run() == expected);
}
