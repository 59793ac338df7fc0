// SPDX-License-Identifier: Apache-2.0
#include "driver/stream.hpp"

#include "driver/errors.hpp"

namespace kiln::driver {
namespace {

/// Calls an entry point with the context current.
template <typename Call>
Result<void> call_in(const Context& context, std::string_view doing, Call&& call) {
    auto guard = context.enter();
    if (!guard) return pass_on(guard);
    return check(context.cuda(), std::forward<Call>(call)(context.cuda()), doing);
}

}  // namespace

Result<Stream> Stream::create(const Context& context) {
    auto own = context.share();
    if (!own) return pass_on(own);
    CUstream handle = nullptr;
    auto created = call_in(*own, "making a stream",
                           [&](const EntryPoints& cuda) { return cuda.stream_create(&handle, CU_STREAM_NON_BLOCKING); });
    if (!created) return pass_on(created);
    return Stream(std::move(*own), handle);
}

Stream::Stream(Stream&& other) noexcept : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, nullptr)) {}

Stream::~Stream() {
    if (handle_ == nullptr) return;
    context_.enter_to_release(
        [&] { ignore_result(context_.cuda(), context_.cuda().stream_destroy(handle_), "ending a stream"); });
}

Result<void> Stream::synchronize() const {
    return call_in(context_, "waiting for a stream", [&](const EntryPoints& cuda) { return cuda.stream_synchronize(handle_); });
}

Result<Event> Event::create(const Context& context) {
    auto own = context.share();
    if (!own) return pass_on(own);
    CUevent handle = nullptr;
    auto created =
        call_in(*own, "making an event", [&](const EntryPoints& cuda) { return cuda.event_create(&handle, CU_EVENT_DEFAULT); });
    if (!created) return pass_on(created);
    return Event(std::move(*own), handle);
}

Event::Event(Event&& other) noexcept : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, nullptr)) {}

Event::~Event() {
    if (handle_ == nullptr) return;
    context_.enter_to_release([&] { ignore_result(context_.cuda(), context_.cuda().event_destroy(handle_), "ending an event"); });
}

Result<void> Event::record(CUstream stream) const {
    return call_in(context_, "recording an event", [&](const EntryPoints& cuda) { return cuda.event_record(handle_, stream); });
}

Result<void> Event::synchronize() const {
    return call_in(context_, "waiting for an event", [&](const EntryPoints& cuda) { return cuda.event_synchronize(handle_); });
}

Result<float> Event::milliseconds_since(const Event& earlier) const {
    float milliseconds = 0;
    auto measured = call_in(context_, "timing", [&](const EntryPoints& cuda) {
        CUresult result = cuda.event_synchronize(earlier.handle_);
        if (result == CUDA_SUCCESS) result = cuda.event_synchronize(handle_);
        if (result == CUDA_SUCCESS) result = cuda.event_elapsed_time(&milliseconds, earlier.handle_, handle_);
        return result;
    });
    if (!measured) return pass_on(measured);
    return milliseconds;
}

Result<void> Graph::begin(const Stream& stream) {
    return call_in(stream.context(), "beginning a capture", [&](const EntryPoints& cuda) {
        return cuda.stream_begin_capture(stream.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    });
}

Result<Graph> Graph::end(const Stream& stream) {
    auto own = stream.context().share();
    if (!own) return pass_on(own);
    CUgraphExec handle = nullptr;
    auto made = call_in(*own, "capturing a graph", [&](const EntryPoints& cuda) {
        CUgraph captured = nullptr;
        CUresult result = cuda.stream_end_capture(stream.handle(), &captured);
        if (result != CUDA_SUCCESS) return result;
        result = cuda.graph_instantiate(&handle, captured, 0);
        ignore_result(cuda, cuda.graph_destroy(captured), "freeing a captured graph");
        return result;
    });
    if (!made) return pass_on(made);
    return Graph(std::move(*own), handle);
}

Graph::Graph(Graph&& other) noexcept : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, nullptr)) {}

Graph::~Graph() {
    if (handle_ == nullptr) return;
    context_.enter_to_release(
        [&] { ignore_result(context_.cuda(), context_.cuda().graph_exec_destroy(handle_), "freeing a graph"); });
}

Result<void> Graph::launch(CUstream stream) const {
    return call_in(context_, "launching a graph", [&](const EntryPoints& cuda) { return cuda.graph_launch(handle_, stream); });
}

}  // namespace kiln::driver
