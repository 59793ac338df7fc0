// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What every kernel's one parameter begins with; src/model/forward_arguments.hpp declares the same struct on the host's side.
struct ForwardArguments {
    const float* x;       // [batch, in_channels, height, width]
    const void* weights;  // as the family packed them
    float* y;             // [batch]
    void* counters;       // zero between launches
    void* partials;       // scratch, 16-byte aligned
    long long batch;
    int height;
    int width;
    int pooled_height;
    int pooled_width;
    long long layout[8];  // what the family's geometry computed for the shape, in its own meaning
};
