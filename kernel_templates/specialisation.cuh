// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stands in for the rendered preamble, so that a template can be read, compiled and disassembled on its own. Never embedded.
namespace spec {
constexpr long long in_channels = 8;
constexpr long long out_channels = 64;
constexpr long long kernel_h = 3;
constexpr long long kernel_w = 3;
constexpr long long pool_h = 4;
constexpr long long pool_w = 4;
constexpr long long stride_h = 1;
constexpr long long stride_w = 1;
constexpr long long padding_h = 0;
constexpr long long padding_w = 0;
constexpr long long dilation_h = 1;
constexpr long long dilation_w = 1;
constexpr long long has_bias = 1;
constexpr long long is_sigmoid = 1;
constexpr long long is_tf32 = 0;
}  // namespace spec
