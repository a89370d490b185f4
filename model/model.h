// A language model: weights, a KV page store, and one operation, Forward.
//
// Thread safety: Forward, ReadPage and WritePage are called by the engine thread only. The rest is
// immutable once loaded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/metadata.h"
#include "kernels/kv_shape.h"
#include "model/batch.h"

namespace banyan::model {

struct Facts {
  std::string name;          // general.name, or "null"
  std::string architecture;  // "llama", "null"
  std::int32_t vocabulary_size = 0;
  std::int64_t context_length = 0;  // tokens
  std::int32_t layers = 0;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  // Known of loaded models: none has a window of its own, so that sequences may have one; and
  // backend and pages tell slots apart, so that sequences may be observed and compacted, or choose
  // pages.
  bool every_layer_sees_all = false;
  bool compacts = false;
  std::int64_t parameters = 0;
  std::int64_t weight_bytes = 0;        // as resident after loading
  std::int64_t kv_bytes_per_token = 0;  // as allocated
  // What is allocated beside the page pool for pages that are not full yet; 0 unless seals_pages.
  std::int64_t kv_open_bytes = 0;
  // Its pages have their bytes only once they are full: they are shared whole, no slots are copied,
  // and sequences have open pages.
  bool seals_pages = false;
  std::string kv_dtype = {};     // of its pages; "" where they hold no keys and values
  std::string cpu_variant = {};  // the instructions that compute it; "" for none
  std::string device = {};       // the name of the device that does; "" for none
};

// A tensor as a file stores it: rows of dims[0] elements, one after another.
struct StoredTensor {
  std::string_view name;
  std::uint32_t type = 0;                        // GGUF's number for it
  std::array<std::int64_t, 4> dims{1, 1, 1, 1};  // those not named are 1
  std::span<const std::byte> data;
};

// The name of a tensor type that the GGUF format defines: "Q4_1".
std::string_view TensorTypeName(std::uint32_t type);

// A GGUF file (v2 or v3), memory-mapped, every count, offset, type and dimension checked. A model
// split into several files is one File, opened by the name of its first part.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
class File {
 public:
  // kNotFound, or kInvalidArgument with the key or tensor that is wrong, on one line (which leaves
  // out the path: the caller knows it; only other parts are named).
  static absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path);
  virtual ~File() = default;

  virtual const Metadata& metadata() const = 0;
  virtual std::span<const StoredTensor> tensors() const = 0;
  // The tensor's data was used and will not be read again soon: its memory stops being resident.
  virtual void Release(const StoredTensor& tensor) const = 0;
  virtual std::int64_t bytes() const = 0;  // of all parts
  virtual std::int32_t parts() const = 0;
};

// What a file would be as a model, as far as its header tells: no weight is read.
struct Inspection {
  Facts facts;  // weight_bytes as the file holds them; 0 for what is not known
  // How many of the latest positions each layer sees, its own among them; 0: all. Empty where the
  // architecture does not run, for then nobody knows which layers its keys mean.
  std::vector<std::int64_t> windows;
  // Why Model::Load would refuse it, a line each; none: it loads.
  std::vector<std::string> problems;
};
Inspection Inspect(const File& file);

enum class Backend : std::uint8_t { kCpu, kCuda };

struct Options {
  Backend backend = Backend::kCpu;
  std::int32_t device = 0;  // of kCuda
  // Of kCuda: a row's logits are the same bits in every batch, as they always are on the CPU.
  bool deterministic = false;
  std::int32_t threads = 1;     // compute threads, the caller's among them; 1..256
  std::int32_t page_size = 16;  // tokens per page
  // Bytes; as many whole pages as fit are allocated, at least one. 0 on a device: all it has free.
  std::int64_t kv_memory = 0;
  kernels::KvFormat kv_format = kernels::KvFormat::kF16;
  // The most that have computed tokens and go on: so many open pages are allocated where pages are
  // sealed, of kv_memory.
  std::int32_t max_sequences = 1;
  // The most tokens and logit rows of one step; buffers are sized by it.
  std::int32_t max_batch_tokens = 256;
  std::string cpu_variant = {};  // one of CpuVariants(), or "" for the quickest
  bool bind_threads = false;     // each compute thread keeps to a processor
};

// The sets of instructions that this machine runs, the quickest first: "avx2", "portable".
std::vector<std::string> CpuVariants();

class Model {
 public:
  // kUnimplemented names an architecture, tensor type or setting that is not known, or a format of
  // pages that its heads do not have; kInvalidArgument a tensor or key that is missing or has the
  // wrong shape, or a page size that the format does not have; kFailedPrecondition a
  // set of instructions that this machine does not run, or a device that it has not or this build
  // cannot use; kResourceExhausted weights, buffers, threads or a page pool that the machine cannot
  // give.
  static absl::StatusOr<std::unique_ptr<Model>> Load(std::unique_ptr<File> file,
                                                     const Options& options);

  // `--model null`: no weights. Each slot of its pages holds a hash of the path up to that token,
  // read back through the page table; the next token is drawn from that hash among the ids
  // 32..126 and, one time in 256, `end_token`. Windows of keys and compaction change nothing: a
  // hash is of the whole path, of which only the slot before is read; nobody is observed, the
  // last slots survive, and no choice is made.
  static absl::StatusOr<std::unique_ptr<Model>> Null(const Options& options, TokenId end_token,
                                                     std::int32_t vocabulary_size);

  virtual ~Model() = default;
  virtual const Facts& facts() const = 0;
  virtual std::int32_t pages() const = 0;  // in the page pool

  // Runs one step. Where pages are sealed it makes no copies, and a sequence that does not go on
  // where its open page ends begins on a page border. An error means that the step failed as a
  // whole; the model stays usable, but for kUnavailable: what computes it has failed, and every
  // later step will.
  virtual absl::Status Forward(const Batch& batch, StepResult& result) = 0;

  // The bytes of one page: every layer's keys and values. Where pages are sealed, of full ones.
  virtual std::size_t page_bytes() const = 0;
  virtual void ReadPage(PageId page, std::span<std::byte> bytes) const = 0;
  virtual void WritePage(PageId page, std::span<const std::byte> bytes) = 0;
};

}  // namespace banyan::model
