// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <cmath>
#include <iostream>
#include <vector>

#include <kiln/kiln.hpp>

int main() try {
    // Conv2d(8, 64, 3), AvgPool2d(4), sigmoid, sum: a kernel for exactly these sizes is compiled here, or comes from the cache.
    const kiln::ModelSpec spec{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4};
    const std::vector<float> weight(std::size_t{64} * 8 * 3 * 3, 0.01f), bias(64, -0.5f);
    const kiln::Model model(spec, {weight, bias});
    std::cout << "kernel " << model.kernel().key << ", " << to_string(model.kernel().origin) << '\n';

    // Four images of 8 channels, 96×96, each brighter than the one before.
    const kiln::Shape shape{.batch = 4, .height = 96, .width = 96};
    std::vector<float> images, sums(4);
    for (const float brightness : {0.0f, 0.25f, 0.5f, 0.75f}) images.insert(images.end(), std::size_t{8} * 96 * 96, brightness);
    float *x = nullptr, *y = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&x), images.size() * sizeof(float));
    cudaMalloc(reinterpret_cast<void**>(&y), sums.size() * sizeof(float));
    cudaMemcpy(x, images.data(), images.size() * sizeof(float), cudaMemcpyHostToDevice);

    // One launch. Nothing is allocated or compiled here, so it can be captured in a CUDA graph.
    kiln::Workspace workspace = model.workspace(shape);
    model.forward(x, y, shape, nullptr, workspace);
    cudaMemcpy(sums.data(), y, sums.size() * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(x);
    cudaFree(y);

    const std::vector<double> expected = kiln::reference(spec, {weight, bias}, images, shape);
    bool right = true;
    for (std::size_t image = 0; image < sums.size(); ++image) {
        std::cout << "image " << image << ": " << sums[image] << ", by the definition " << expected[image] << '\n';
        right = right && std::abs(sums[image] - expected[image]) <= 1e-5 * expected[image];
    }
    return right ? 0 : 1;
} catch (const kiln::Error& error) {
    std::cerr << error.what() << '\n';  // where there is no GPU, this says so
    return 1;
}
