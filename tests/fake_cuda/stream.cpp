// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <utility>

#include "state.hpp"

// From CUDA 12.8 on, cuda.h renames it; the symbol of CUDA 12.0 is the one that Kiln calls.
#undef cuEventElapsedTime
FAKE_CUDA_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to);

using fake_cuda::current_contexts;
using fake_cuda::state;

namespace {

double now_ms() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

FAKE_CUDA_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) {
    FAKE_CUDA_BEGIN(cuStreamCreate, context);
    *stream = new CUstream_st{current_contexts().back(), false, {}};
    state().streams.insert(*stream);
    ++state().counters.streams;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
    FAKE_CUDA_BEGIN(cuStreamDestroy_v2, context);
    if (state().streams.erase(stream) == 0) return CUDA_ERROR_INVALID_HANDLE;
    delete stream;
    --state().counters.streams;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuStreamSynchronize(CUstream stream) {
    FAKE_CUDA_BEGIN(cuStreamSynchronize, context);
    if (stream != nullptr && stream->is_capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    ++state().counters.waits;
    if (stream == nullptr) state().is_default_stream_busy = false;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) {
    FAKE_CUDA_BEGIN(cuStreamWaitEvent, context);
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
    FAKE_CUDA_BEGIN(cuStreamBeginCapture_v2, context);
    if (stream == nullptr || stream->is_capturing) return CUDA_ERROR_ILLEGAL_STATE;
    stream->is_capturing = true;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    FAKE_CUDA_BEGIN(cuStreamEndCapture, context);
    if (!stream->is_capturing) return CUDA_ERROR_ILLEGAL_STATE;
    stream->is_capturing = false;
    *graph = new CUgraph_st{std::exchange(stream->captured, {})};
    ++state().counters.graphs;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    FAKE_CUDA_BEGIN(cuStreamIsCapturing, context);
    *status = stream != nullptr && stream->is_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuEventCreate(CUevent* event, unsigned) {
    FAKE_CUDA_BEGIN(cuEventCreate, context);
    *event = new CUevent_st;
    ++state().counters.events;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
    FAKE_CUDA_BEGIN(cuEventDestroy_v2, context);
    delete event;
    --state().counters.events;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuEventRecord(CUevent event, CUstream) {
    FAKE_CUDA_BEGIN(cuEventRecord, context);
    event->recorded_ms = now_ms();
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuEventSynchronize(CUevent) {
    FAKE_CUDA_BEGIN(cuEventSynchronize, context);
    ++state().counters.waits;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
    FAKE_CUDA_BEGIN(cuEventElapsedTime, context);
    if (from->recorded_ms < 0 || to->recorded_ms < 0) return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = static_cast<float>(to->recorded_ms - from->recorded_ms);
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
    FAKE_CUDA_BEGIN(cuGraphInstantiateWithFlags, context);
    *executable = new CUgraphExec_st{graph->launches};
    ++state().counters.graphs;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    FAKE_CUDA_BEGIN(cuGraphLaunch, context);
    fake_cuda::execute(executable->launches, stream);
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
    FAKE_CUDA_BEGIN(cuGraphDestroy, init);
    delete graph;
    --state().counters.graphs;
    return CUDA_SUCCESS;
}

FAKE_CUDA_EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable) {
    FAKE_CUDA_BEGIN(cuGraphExecDestroy, init);
    delete executable;
    --state().counters.graphs;
    return CUDA_SUCCESS;
}
