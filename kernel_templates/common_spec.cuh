// SPDX-License-Identifier: Apache-2.0
#pragma once

// The spec's sizes as numbers of 32 bits, and what every family reckons with.
namespace kiln {

__host__ __device__ constexpr int ceil_divide(int a, int b) {
    return (a + b - 1) / b;
}
__host__ __device__ constexpr int round_up(int a, int b) {
    return ceil_divide(a, b) * b;
}

constexpr int in_channels = static_cast<int>(spec::in_channels);
constexpr int out_channels = static_cast<int>(spec::out_channels);
constexpr int kernel_h = static_cast<int>(spec::kernel_h), kernel_w = static_cast<int>(spec::kernel_w);
constexpr int pool_h = static_cast<int>(spec::pool_h), pool_w = static_cast<int>(spec::pool_w);
constexpr int stride_h = static_cast<int>(spec::stride_h), stride_w = static_cast<int>(spec::stride_w);
constexpr int padding_h = static_cast<int>(spec::padding_h), padding_w = static_cast<int>(spec::padding_w);
constexpr int dilation_h = static_cast<int>(spec::dilation_h), dilation_w = static_cast<int>(spec::dilation_w);

}  // namespace kiln
