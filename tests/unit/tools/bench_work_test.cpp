// SPDX-License-Identifier: Apache-2.0
#include "kiln/bench_work.hpp"

#include "support/catch.hpp"

using namespace kiln;
using namespace kiln::tools;

namespace {

const ModelSpec headline{.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4};
constexpr Shape headline_shape{.batch = 128, .height = 384, .width = 384};

}  // namespace

TEST_CASE("the work of the headline shape is what its definition says") {
    const Work work = work_of(headline, headline_shape);
    CHECK(work.input_bytes == 128.0 * 8 * 382 * 384 * 4);  // the last two rows are in no window
    CHECK(work.multiply_adds == 128.0 * 95 * 95 * 64 * 72);
    CHECK(work.direct == 16 * work.multiply_adds);
    CHECK(work.activations == 128.0 * 95 * 95 * 64);
}

TEST_CASE("padding reads no row twice, and identity has no activations") {
    const ModelSpec spec{.in_channels = 2,
                         .out_channels = 3,
                         .kernel_size = 3,
                         .pool_kernel_size = 2,
                         .padding = 1,
                         .activation = Activation::identity};
    const Work work = work_of(spec, {.batch = 1, .height = 8, .width = 8});
    CHECK(work.input_bytes == 2 * 8 * 8 * 4);
    CHECK(work.activations == 0);
}

TEST_CASE("the floor is the slowest unit's time") {
    const Floor memory = floor_of(work_of(headline, headline_shape), Math::fp32, Arch::sm_90a);
    CHECK(memory.us() == memory.memory_us);
    CHECK(memory.us() == Approx(135).margin(1));  // 601 MB at 4.45 TB/s
    const ModelSpec mid{.in_channels = 64, .out_channels = 128, .kernel_size = 3, .pool_kernel_size = 2};
    const Work work = work_of(mid, {.batch = 32, .height = 56, .width = 56});
    const Floor fp32 = floor_of(work, Math::fp32, Arch::sm_90a);
    CHECK(fp32.us() == fp32.products_us);
    CHECK(fp32.products_us == Approx(3 * floor_of(work, Math::tf32, Arch::sm_90a).products_us));
}

TEST_CASE("where three TF32 products are slower than multiply-adds, these are the floor") {
    const Work work = work_of(headline, headline_shape);
    CHECK(floor_of(work, Math::fp32, Arch::sm_75).products_us == floor_of(work, Math::tf32, Arch::sm_75).products_us);
    CHECK(floor_of(work, Math::fp32, Arch::sm_86).products_us == floor_of(work, Math::tf32, Arch::sm_86).products_us);
    CHECK(floor_of(work, Math::fp32, Arch::sm_80).products_us > floor_of(work, Math::tf32, Arch::sm_80).products_us);
}
