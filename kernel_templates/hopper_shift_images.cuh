// SPDX-License-Identifier: Apache-2.0
#pragma once

// The finishing warp: a unit's sums per place become sums per image, which meet those of the image's other units.
namespace kiln {

/// Adds up the rows' sums of each place into the first row; places of spots that are no positions become zeros.
__device__ __forceinline__ void add_rows(const ForwardArguments& arguments, const Layout& layout, const Unit& unit,
                                         float* place_sums) {
    const unsigned strip_area = layout.rows * layout.pitch;
    const unsigned first = unit.row * layout.pitch + unit.column;
#pragma unroll 1
    for (int place = static_cast<int>(threadIdx.x % 32); place < unit.count; place += 32) {
        const unsigned spot = first + place;
        const unsigned strips_after = spot / strip_area, in_strip = spot - strips_after * strip_area;
        const unsigned row = in_strip / layout.pitch, column = in_strip - row * layout.pitch;
        const unsigned strip = (unit.strip + strips_after) % layout.strips;
        const bool is_position = row < static_cast<unsigned>(arguments.pooled_height) &&
                                 column < static_cast<unsigned>(layout.strip_width) &&
                                 strip * layout.strip_width + column < static_cast<unsigned>(arguments.pooled_width);
        float sums[sum_rows];
#pragma unroll
        for (int i = 0; i < sum_rows; ++i) sums[i] = place_sums[i * tile_places + place];
        place_sums[place] = is_position ? pairwise_sum<sum_rows>(sums) : 0.0f;
    }
    __syncwarp();
}

/// Adds up the positions of each image that a unit has places of. Where it has many, groups of lanes take one each.
__device__ __forceinline__ void add_images(const ForwardArguments& arguments, const Layout& layout, const Unit& unit, int split,
                                           const float* place_sums) {
    const unsigned strip_area = static_cast<unsigned>(layout.rows) * layout.pitch;
    const Index area = static_cast<Index>(layout.strips) * strip_area;
    const int first_image = static_cast<unsigned>(unit.strip) / layout.strips;
    // From the first image's start to the tile's.
    const Index offset =
        static_cast<Index>(unit.strip - first_image * layout.strips) * strip_area + unit.row * layout.pitch + unit.column;
    const int images = static_cast<int>(divide_in_few_registers(offset + unit.count - 1, area)) + 1;
    int lanes = 32;
    while (lanes > 1 && lanes * images > 32) lanes /= 2;

    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll 1
    for (int first = 0; first < images; first += 32 / lanes) {
        const bool active = first + lane / lanes < images;
        const int index = active ? first + lane / lanes : 0;
        const Index start = index * area - offset;  // from the tile's; negative for the first image
        const int from = start > 0 ? static_cast<int>(start) : 0;
        const int to = start + area < unit.count ? static_cast<int>(start + area) : unit.count;
        double sum = 0;
#pragma unroll 1
        for (int place = from + lane % lanes; place < to; place += lanes) sum += place_sums[place];
        sum = lane_group_sum(sum, lanes);
        const Contributors contributors{
            unit.tile - (index == 0 ? divide_in_few_registers(offset + layout.tile_spots - 1, layout.tile_spots) : 0),
            unit.tile + divide_in_few_registers(start + area - 1, layout.tile_spots), filter_tiles * Share::halves_of(arguments)};
        meet(arguments, first_image + index, sum, contributors, unit.tile, split, active, lanes);
    }
}

/// Adds up the positions of each of the images that are beside each other, four lanes each: they are all in one strip.
__device__ __forceinline__ void add_images_beside(const ForwardArguments& arguments, const Layout& layout, const Unit& unit,
                                                  int split, const float* place_sums) {
    constexpr int images = 8, lanes = 32 / images;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int strip = static_cast<unsigned>(unit.strip) % layout.strips;
    const int columns = min(layout.strip_width, arguments.pooled_width - strip * layout.strip_width);
    double sum = 0;
#pragma unroll 1
    for (int spot = lane % lanes; spot < unit.count; spot += lanes) {
        float sums[sum_rows];
#pragma unroll
        for (int i = 0; i < sum_rows; ++i) sums[i] = place_sums[i * tile_places + spot * images + lane / lanes];
        if (static_cast<int>(static_cast<unsigned>(spot) % layout.pitch) < columns) sum += pairwise_sum<sum_rows>(sums);
    }
    sum = lane_group_sum(sum, lanes);
    const int tiles = layout.strips * layout.strip_tiles(arguments.pooled_height);  // of each image
    const int group = static_cast<unsigned>(unit.tile) / tiles;
    const Index image = static_cast<Index>(group) * images + lane / lanes;
    const Index first = image * (tiles - 1);  // image + first: tiles of the images before
    meet(arguments, image, sum, {first, first + tiles - 1, filter_tiles * Share::halves_of(arguments)},
         first + unit.tile - group * tiles, split, image < arguments.batch, lanes);
}

/// The finishing warp's life. It feeds weights too, a unit ahead of those that it finishes: two warps that feed were measured to
/// be faster than one.
__device__ __forceinline__ void finish_images(const ForwardArguments& arguments, unsigned char* shared) {
    const Layout layout(arguments);
    const Share share(arguments, layout);
    const Barriers barriers(shared);
    float* const place_sums = reinterpret_cast<float*>(shared + sums_at);
#pragma unroll 1
    for (unsigned done = 0;; ++done) {
        const int next = share.first + static_cast<int>(done) * share.step;
        if (next < share.units && (!weights_stay || done == 0)) {
            fetch_weights(arguments, barriers, shared_address(shared + stages_at), share, Share::filter_tile(next), done);
        }
        if (done == 0) {
            if (Share::splits_of(arguments) > 1) let_pair_meet();
            griddepcontrol_wait();
        }
        if (done > 0) {
            const Unit& unit = reinterpret_cast<const Unit*>(shared + units_at)[(done - 1) % unit_places];
            mbarrier_wait_parity(barriers.sums_full, (done - 1) & 1);
            if (Share::splits_of(arguments) > 2 && *reinterpret_cast<const int*>(shared + last_at) == 0) break;
            const int halves = Share::halves_of(arguments);
            const int split =
                Share::filter_tile(next - share.step) * halves + (halves > 1 ? static_cast<int>(Share::rank_of(arguments)) : 0);
            if (layout.are_beside()) {
                add_images_beside(arguments, layout, unit, split, place_sums);
            } else {
                add_rows(arguments, layout, unit, place_sums);
                add_images(arguments, layout, unit, split, place_sums);
            }
            mbarrier_arrive(barriers.sums_empty);
        }
        if (next >= share.units) break;
    }
    if (Share::splits_of(arguments) > 1) {
        __syncwarp();
        barrier_cluster_wait();
    }
}

}  // namespace kiln
