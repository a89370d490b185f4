#include "model/put_aside.h"

#include "base/check.h"

namespace banyan::model {
namespace {

// Assigning {} would keep the memory.
void Empty(std::vector<std::byte>& place) { std::vector<std::byte>().swap(place); }

}  // namespace

std::vector<std::byte>& PutAside::At(std::int32_t place) {
  CHECK(place >= 0);
  const auto index = static_cast<std::size_t>(place);
  if (index >= places_.size()) places_.resize(index + 1);
  return places_[index];
}

void PutAside::Move(const Batch& batch, Model& model) {
  for (const std::int32_t place : batch.forgets) Empty(At(place));
  for (const PageMove& save : batch.saves) {
    std::vector<std::byte>& bytes = At(save.place);
    bytes.resize(model.page_bytes());
    model.ReadPage(save.page, bytes);
  }
  for (const PageMove& restore : batch.restores) {
    std::vector<std::byte>& bytes = At(restore.place);
    CHECK(!bytes.empty());
    model.WritePage(restore.page, bytes);
    Empty(bytes);
  }
}

std::int64_t PutAside::bytes() const {
  std::size_t bytes = 0;
  for (const std::vector<std::byte>& place : places_) bytes += place.capacity();
  return static_cast<std::int64_t>(bytes);
}

}  // namespace banyan::model
