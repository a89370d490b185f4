#include "kernels/cuda/gemm.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <map>
#include <tuple>
#include <utility>

#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

// A descriptor of cuBLASLt and the function that destroys it.
template <class T, cublasStatus_t (*kDestroy)(T)>
class Descriptor {
 public:
  Descriptor() = default;
  ~Descriptor() {
    if (held_ != nullptr) kDestroy(held_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  T* out() { return &held_; }
  T get() const { return held_; }

 private:
  T held_ = nullptr;
};
using Operation = Descriptor<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Descriptor<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Descriptor<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

// What a product is described by. cuBLASLt's matrices go by columns: y^T = w x^T, where w^T and x^T
// are what lies in memory.
struct Description {
  Operation operation;
  Layout w;
  Layout x;
  Layout y;
};

cudaDataType_t TypeOf(NumberType type) {
  return type == NumberType::kF16 ? CUDA_R_16F : CUDA_R_16BF;
}

class DeviceGemm : public Gemm {
 public:
  DeviceGemm(const Options& options, cublasLtHandle_t handle, void* workspace)
      : options_(options), handle_(handle), workspace_(workspace) {}
  ~DeviceGemm() override {
    Free(workspace_);
    cublasLtDestroy(handle_);
  }

  void Multiply(const GemmCall& call, Stream stream) override;

 private:
  // outputs, inputs, rows, type, has a bias, adds
  using Shape = std::tuple<std::int64_t, std::int64_t, std::int32_t, NumberType, bool, bool>;

  static bool Describe(const GemmCall& call, std::int32_t rows, Description* description);
  bool Choose(const Shape& shape, const Description& description, cublasLtMatmulAlgo_t* algorithm);

  Options options_;
  cublasLtHandle_t handle_;
  void* workspace_;
  std::map<Shape, cublasLtMatmulAlgo_t> algorithms_;
};

bool DeviceGemm::Describe(const GemmCall& call, std::int32_t rows, Description* description) {
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const cudaDataType_t type = TypeOf(call.weights.type);
  const auto outputs = static_cast<std::uint64_t>(call.outputs);
  const auto inputs = static_cast<std::uint64_t>(call.inputs);
  bool good = cublasLtMatmulDescCreate(description->operation.out(), CUBLAS_COMPUTE_32F,
                                       CUDA_R_32F) == CUBLAS_STATUS_SUCCESS;
  good = good &&
         cublasLtMatmulDescSetAttribute(description->operation.get(), CUBLASLT_MATMUL_DESC_TRANSA,
                                        &transposed, sizeof transposed) == CUBLAS_STATUS_SUCCESS;
  if (call.bias != nullptr) {
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    good = good && cublasLtMatmulDescSetAttribute(description->operation.get(),
                                                  CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                                  sizeof epilogue) == CUBLAS_STATUS_SUCCESS;
    good = good && cublasLtMatmulDescSetAttribute(description->operation.get(),
                                                  CUBLASLT_MATMUL_DESC_BIAS_POINTER, &call.bias,
                                                  sizeof call.bias) == CUBLAS_STATUS_SUCCESS;
  }
  const auto n = static_cast<std::uint64_t>(rows);
  const auto layout = [&](Layout& of, cudaDataType_t t, std::uint64_t height, std::uint64_t width) {
    return cublasLtMatrixLayoutCreate(of.out(), t, height, width,
                                      static_cast<std::int64_t>(height)) == CUBLAS_STATUS_SUCCESS;
  };
  return good && layout(description->w, type, inputs, outputs) &&
         layout(description->x, type, inputs, n) && layout(description->y, CUDA_R_32F, outputs, n);
}

bool DeviceGemm::Choose(const Shape& shape, const Description& description,
                        cublasLtMatmulAlgo_t* algorithm) {
  if (const auto known = algorithms_.find(shape); known != algorithms_.end()) {
    *algorithm = known->second;
    return true;
  }
  Preference preference;
  const std::uint32_t unsplit = CUBLASLT_REDUCTION_SCHEME_NONE;
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
    return cublasLtMatmulPreferenceSetAttribute(preference.get(), name, &value, sizeof value) ==
           CUBLAS_STATUS_SUCCESS;
  };
  if (cublasLtMatmulPreferenceCreate(preference.out()) != CUBLAS_STATUS_SUCCESS ||
      !set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, unsplit) ||
      !set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, options_.workspace_bytes))
    return false;
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  if (cublasLtMatmulAlgoGetHeuristic(handle_, description.operation.get(), description.w.get(),
                                     description.x.get(), description.y.get(), description.y.get(),
                                     preference.get(), 1, &found,
                                     &count) != CUBLAS_STATUS_SUCCESS ||
      count == 0)
    return false;
  *algorithm = found.algo;
  if (algorithms_.size() < kMaxAlgorithms) algorithms_.emplace(shape, found.algo);
  return true;
}

void DeviceGemm::Multiply(const GemmCall& call, Stream stream) {
  if (call.rows == 0) return;
  Require(call.weights.type == call.x.type && call.x.type != NumberType::kF32,
          "Multiply: numbers of 16 bits, all of one type");
  const std::int32_t rows = options_.rows == Rows::kFixed ? call.max_rows : call.rows;
  Require(call.rows <= rows, "Multiply: more rows than were announced");
  const Shape shape{call.outputs,      call.inputs,          rows,
                    call.weights.type, call.bias != nullptr, call.adds};
  Description description;
  cublasLtMatmulAlgo_t algorithm{};
  if (!Describe(call, rows, &description) || !Choose(shape, description, &algorithm)) {
    NoteError(cudaErrorNotSupported);
    return;
  }
  const float one = 1.0F;
  const float beta = call.adds ? 1.0F : 0.0F;
  const cublasStatus_t status = cublasLtMatmul(
      handle_, description.operation.get(), &one, call.weights.data, description.w.get(),
      call.x.data, description.x.get(), &beta, call.y, description.y.get(), call.y,
      description.y.get(), &algorithm, workspace_, options_.workspace_bytes, stream);
  if (status != CUBLAS_STATUS_SUCCESS) NoteError(cudaErrorLaunchFailure);
}

}  // namespace

std::unique_ptr<Gemm> Gemm::Create(const Options& options) {
  cublasLtHandle_t handle = nullptr;
  if (cublasLtCreate(&handle) != CUBLAS_STATUS_SUCCESS) return nullptr;
  void* workspace = Allocate(options.workspace_bytes);
  if (workspace == nullptr) {
    cublasLtDestroy(handle);
    return nullptr;
  }
  return std::make_unique<DeviceGemm>(options, handle, workspace);
}

}  // namespace banyan::kernels::cuda
