#include "tests/sim/batch_check.h"

#include <algorithm>
#include <span>
#include <utility>

#include "scheduler/request_state.h"

namespace banyan::sim {
namespace {

using radix::PageState;

std::int64_t Size(const auto& range) { return static_cast<std::int64_t>(range.size()); }

}  // namespace

void BatchCheck::Check(const Batch& batch) {
  admitted_.clear();
  uses_.clear();
  tokens_.clear();
  tables_.clear();
  Require(batch.step == static_cast<std::uint64_t>(stage_.step) + 1, "step %d follows step %d",
          kNobody, static_cast<std::int64_t>(batch.step), stage_.step);
  for (Client& client : stage_.clients) {
    if (!client.waits()) continue;
    const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
    if (status && status->state == scheduler::RequestState::kPrefill) Admit(client, status->tokens);
  }
  std::int64_t sum = 0;
  for (const Sequence& sequence : batch.sequences) {
    const RequestId id = sequence.request;
    Client& client = stage_[id];
    Require(client.live(), "is in a batch, but does not live", id);
    Require(client.ask == Ask::kNothing, "was cancelled, and is in a batch", id);
    Require(tokens_.emplace(id, Size(sequence.tokens)).second, "is in a batch twice", id);
    sum += Size(sequence.tokens);
    Require(client.running, "is in a batch, and was not admitted", id);
    CheckTokens(client, sequence);
    CheckQuestion(client, sequence);
    CheckPages(client, sequence);
    CheckOpenPage(client, sequence);
    CheckPolicy(client, sequence);
    CheckKeeping(client, sequence);
    tables_[sequence.pages.data()] = id;
  }
  Require(sum <= stage_.scenario.scheduler.max_batch_tokens, "a batch of %d tokens", kNobody, sum);
  CheckCompactions(batch);
  CheckCopies(batch);
  CheckMoves(batch);
  CheckShares();
}

void BatchCheck::Admit(Client& client, std::int64_t tokens) {
  admitted_.push_back(&client);
  if (client.just_admitted) {
    Require(tokens == client.cached, "begins with %d tokens, and was told of %d", client.id, tokens,
            client.cached);
  } else {
    Require(client.preemptions > 0, "runs, and was never admitted", client.id);
    CheckResumed(client, tokens);
    ++stage_.counts.resumptions;
    stage_.trace.Add("resumes with %d tokens of %d", client.id, tokens, client.known());
  }
  Require(tokens < client.known(), "begins with %d tokens of %d", client.id, tokens,
          client.known());
  const bool is_back = tokens > client.exact();
  client.running = true;
  client.prefill = true;
  client.publishes = !is_back;
  client.kept_private = is_back;
  client.lost = false;
  client.computed = client.began_with = tokens;
  client.high_water = std::max(client.high_water, tokens);
  client.admitted_step = stage_.step + 1;
  dropped_.erase(client.id);
  open_pages_.erase(client.id);
  client.began = false;
}

// What is not exact was put aside and comes back whole, where there was room for it.
void BatchCheck::CheckResumed(const Client& client, std::int64_t tokens) {
  if (client.had <= client.exact()) return;
  if (tokens > client.exact()) {
    Require(tokens == client.had, "resumes with %d tokens, and had %d", client.id, tokens,
            client.had);
    ++stage_.counts.brought_back;
    return;
  }
  Require(client.lost || !stage_.shares_slots() ||
              stage_.scenario.scheduler.max_pages_aside < stage_.scenario.cache.pages,
          "resumes with %d tokens, though there was room for %d", client.id, tokens, client.had);
}

void BatchCheck::CheckMoves(const Batch& batch) {
  std::map<std::int32_t, bool> places;
  for (const std::int32_t place : batch.forgets) {
    Require(0 <= place && places.emplace(place, true).second, "place %d is forgotten twice",
            kNobody, place);
  }
  places.clear();
  for (const PageMove& save : batch.saves) {
    Require(0 <= save.place && save.place < stage_.scenario.scheduler.max_pages_aside,
            "page %d goes to place %d", kNobody, save.page, save.place);
    Require(places.emplace(save.place, true).second, "two pages go to place %d", kNobody,
            save.place);
  }
  for (const PageMove& restore : batch.restores) {
    const auto use = uses_.find(restore.page);
    Require(use != uses_.end() && use->second.reader != kNobody,
            "page %d comes back, and nobody in the step has it for himself", kNobody, restore.page);
  }
}

void BatchCheck::CheckTokens(const Client& client, const Sequence& sequence) {
  const std::int64_t count = Size(sequence.tokens);
  Require(sequence.first_position == client.computed, "goes on at %d, with %d tokens computed",
          client.id, sequence.first_position, client.computed);
  Require(count >= 1 && client.computed + count <= client.known(),
          "computes %d tokens from %d on, and has %d", client.id, count, client.computed,
          client.known());
  Require(std::equal(sequence.tokens.begin(), sequence.tokens.end(),
                     client.oracle.tokens.begin() + client.computed),
          "is given other tokens than it has, from %d on", client.id, client.computed);
}

void BatchCheck::CheckQuestion(const Client& client, const Sequence& sequence) {
  const std::int64_t end = client.computed + Size(sequence.tokens);
  const bool samples = end == client.known() && !client.prompt_only();
  Require(sequence.logits == (samples ? Logits::kSampleLast : Logits::kNone),
          "samples at a wrong place: %d of %d tokens", client.id, end, client.known());
  const std::int64_t scored = Size(sequence.scored);
  // Scores that were sent are not asked for again, and not in one chunk with those that are to
  // come.
  std::int64_t wanted = 0;
  if (client.request.score_prompt && client.computed < client.prompt_tokens()) {
    const std::int64_t sent = std::min(client.high_water, client.prompt_tokens());
    if (client.preemptions == 0 || client.computed >= sent) {
      wanted = std::min(end + 1, client.prompt_tokens()) - client.computed - 1;
    } else {
      Require(end <= sent, "computes up to %d, and its scores were sent up to %d", client.id, end,
              sent);
    }
  }
  Require(scored == wanted, "asks for the scores of %d tokens, not %d", client.id, scored, wanted);
  Require(client.computed + 1 + scored <= client.known() &&
              std::equal(sequence.scored.begin(), sequence.scored.end(),
                         client.oracle.tokens.begin() + client.computed + 1),
          "asks for the scores of other tokens than follow", client.id);
}

void BatchCheck::CheckPages(const Client& client, const Sequence& sequence) {
  const std::int32_t page_size = stage_.page_size();
  const std::int64_t first = sequence.first_slot();
  const std::int64_t end = first + Size(sequence.tokens);
  const PageGap& gap = sequence.gap;
  // Pages that were full until it is compacted where it lies are not open yet.
  const bool in_place = client.oracle.IsCompactedBefore(client.computed) &&
                        client.oracle.CountAfter(client.computed) < client.computed;
  Require(end <= (Size(sequence.pages) + gap.dropped) * page_size,
          "computes up to %d with %d pages", client.id, end, Size(sequence.pages));
  const std::int64_t needed = (end + page_size - 1) / page_size;
  for (std::int64_t at = 0; at < Size(sequence.pages); ++at) {
    const PageId page = sequence.pages[static_cast<std::size_t>(at)];
    const std::int64_t i = at < gap.front ? at : at + gap.dropped;  // its number
    Require(page >= 0 && page < stage_.scenario.cache.pages, "names page %d of no pool", client.id,
            page);
    const PageState state = stage_.cache.page_state(page);
    Require(state != PageState::kFree, "names page %d, which is free", client.id, page);
    const bool is_shared = state == PageState::kTree || state == PageState::kDetached;
    Require(!is_shared || sequence.compacted == 0, "is compacted, and others may read page %d",
            client.id, page);
    Use& use = uses_[page];
    if (!is_shared) {
      Require(use.reader == kNobody, "names page %d, which is request %d's", client.id, page,
              static_cast<std::int64_t>(use.reader));
      use.reader = client.id;
    }
    if (i < first / page_size || i >= needed) continue;
    Require(state == PageState::kOpen || state == PageState::kCopying ||
                (in_place && state == PageState::kPrivate),
            "writes page %d, which others may read: its state is %d", client.id, page,
            static_cast<std::int64_t>(state));
    use.writer = client.id;
    use.first_written = i == first / page_size ? static_cast<std::int32_t>(first % page_size) : 0;
  }
}

// It keeps its open page as long as it runs, and so long it is nobody else's.
void BatchCheck::CheckOpenPage(const Client& client, const Sequence& sequence) {
  const std::int32_t page = sequence.open_page;
  Require(0 <= page && page < stage_.scenario.scheduler.max_running, "has open page %d of none",
          client.id, page);
  const std::int32_t had = open_pages_.emplace(client.id, page).first->second;
  Require(had == page, "has open page %d, and had %d", client.id, page, had);
  for (const auto& [id, others] : open_pages_) {
    if (id == client.id || others != page || !stage_[id].running) continue;
    Require(false, "has open page %d, which is request %d's", client.id, page,
            static_cast<std::int64_t>(id));
  }
}

// What is not named is not seen, and what is named is not too much.
void BatchCheck::CheckPolicy(const Client& client, const Sequence& sequence) {
  const kernels::KeyWindow window = scheduler::WindowOf(client.request.kv_policy);
  Require(sequence.window.window == window.window && sequence.window.sinks == window.sinks,
          "sees a window of %d tokens and %d sinks", client.id, sequence.window.window,
          sequence.window.sinks);
  Require(Size(sequence.pages) <= stage_.MostPages(client), "names %d pages, and may have %d",
          client.id, Size(sequence.pages), stage_.MostPages(client));
  const std::int64_t tokens = Size(sequence.tokens);
  Require(client.computed >= client.exact() ? tokens <= stage_.MostLossy(client)
                                            : client.computed + tokens <= client.exact(),
          "computes %d tokens behind %d that are exact", client.id, tokens, client.exact());
  const PageGap& gap = sequence.gap;
  if (gap.dropped == 0) return;
  Require(client.computed >= client.exact(), "misses pages, and is exact", client.id);
  const std::int64_t page_size = stage_.page_size();
  Require(gap.front * page_size >= window.sinks &&
              (gap.front + gap.dropped) * page_size <= window.first_key(client.computed),
          "misses pages up to %d, and sees keys from %d on", client.id, gap.front + gap.dropped,
          window.first_key(client.computed));
  Require((gap.front + gap.dropped) * page_size < client.computed, "misses its last token",
          client.id);
  stage_.counts.dropped_pages += gap.dropped - dropped_[client.id];
  dropped_[client.id] = gap.dropped;
}

// It has given up what it should, and is observed where it should be.
void BatchCheck::CheckKeeping(const Client& client, const Sequence& sequence) {
  const std::int64_t compacted = client.computed - client.oracle.CountBefore(client.computed);
  Require(sequence.compacted == compacted, "has given up %d slots, not %d", client.id,
          sequence.compacted, compacted);
  const auto& keeping = client.keeping;
  const bool chooses = keeping && client.computed >= keeping->prompt;
  Require(sequence.choice == (chooses ? keeping->choice : kernels::PageChoice{}),
          "chooses %d pages at %d", client.id, sequence.choice.pages, client.computed);
  kernels::Observation wanted;
  if (keeping && keeping->IsObserved(client.computed)) {
    wanted = {sequence.observation.observer, keeping->first_observed, keeping->by};
    Require(wanted.is_made(), "is not observed at %d", client.id, client.computed);
  }
  Require(sequence.observation == wanted, "is observed from %d on", client.id,
          sequence.observation.from);
}

void BatchCheck::CheckCompactions(const Batch& batch) {
  std::map<RequestId, std::int32_t> observers;
  for (const kernels::KvCompaction& compaction : batch.compactions) {
    const auto table = tables_.find(compaction.to.data());
    Require(table != tables_.end(), "%d slots are compacted for nobody", kNobody, compaction.slots);
    Client& client = stage_[table->second];
    Require(observers.emplace(client.id, compaction.observer).second, "is compacted twice",
            client.id);
    const std::int64_t slots = client.oracle.CountAfter(client.computed);
    Require(client.oracle.IsCompactedBefore(client.computed) && compaction.slots == slots,
            "is compacted, of %d slots", client.id, compaction.slots);
    Require(compaction.keep == client.keeping->rule, "keeps %d slots, %d of them recent", client.id,
            compaction.keep.budget, compaction.keep.recent);
    for (const PageId page : compaction.from) {
      const PageState state = stage_.cache.page_state(page);
      Require(state != PageState::kFree, "goes on from page %d, which is free", client.id, page);
      if (state == PageState::kTree || state == PageState::kDetached) continue;
      Use& use = uses_[page];
      Require(use.reader == kNobody || use.reader == client.id,
              "goes on from page %d, which is request %d's", client.id, page,
              static_cast<std::int64_t>(use.reader));
      use.reader = client.id;
    }
    // All of them are written, from their first slot on.
    for (const PageId page : compaction.to) {
      uses_[page].writer = client.id;
      uses_[page].first_written = 0;
    }
    ++(slots < client.computed ? stage_.counts.compactions_in_place : stage_.counts.compactions);
  }
  std::map<std::int32_t, RequestId> by;
  for (const Sequence& sequence : batch.sequences) {
    const Client& client = stage_[sequence.request];
    Require(observers.contains(client.id) == client.oracle.IsCompactedBefore(client.computed),
            "goes on at %d, and is not compacted", client.id, client.computed);
    if (!sequence.observation.is_made()) continue;
    const std::int32_t observer = sequence.observation.observer;
    const auto [other, is_new] = by.emplace(observer, client.id);
    Require(is_new, "has the observer of request %d", client.id,
            static_cast<std::int64_t>(other->second));
    const auto compacts = observers.find(client.id);
    Require(compacts == observers.end() || compacts->second == observer,
            "is compacted by another observer than sees it", client.id);
  }
}

void BatchCheck::CheckCopies(const Batch& batch) {
  Require(stage_.shares_slots() || batch.copies.empty(), "%d copies, where pages are shared whole",
          kNobody, Size(batch.copies));
  const std::int32_t page_size = stage_.page_size();
  std::map<PageId, const PageCopy*> targets;
  for (const PageCopy& copy : batch.copies) {
    Require(copy.from >= 0 && copy.from < stage_.scenario.cache.pages && copy.to >= 0 &&
                copy.to < stage_.scenario.cache.pages && copy.slots >= 1 && copy.slots < page_size,
            "a copy of %d slots from page %d to %d", kNobody, copy.slots, copy.from, copy.to);
    Require(targets.emplace(copy.to, &copy).second, "two copies into page %d", kNobody, copy.to);
    const PageState from = stage_.cache.page_state(copy.from);
    // Behind the exact tokens that are copied its owner may have filled it with others since.
    Require(from == PageState::kTree || from == PageState::kDetached || from == PageState::kOpen ||
                from == PageState::kPrivate,
            "a copy from page %d, whose state is %d", kNobody, copy.from,
            static_cast<std::int64_t>(from));
    Require(stage_.cache.page_state(copy.to) == PageState::kCopying,
            "a copy into page %d, whose state is %d", kNobody, copy.to,
            static_cast<std::int64_t>(stage_.cache.page_state(copy.to)));
    const auto use = uses_.find(copy.from);
    if (use != uses_.end() && use->second.writer != kNobody) {
      Require(copy.slots <= use->second.first_written,
              "copies %d slots of page %d, which is written from slot %d on", use->second.writer,
              copy.slots, copy.from, use->second.first_written);
    }
    ++stage_.counts.copies;
    if (from == PageState::kOpen) ++stage_.counts.open_copies;
  }
  // In its first step a request that begins inside a page has a copy of what is before.
  for (const Sequence& sequence : batch.sequences) {
    Client& client = stage_[sequence.request];
    const auto slots = static_cast<std::int32_t>(client.computed % page_size);
    if (std::exchange(client.began, true) || slots == 0) continue;
    if (client.computed > client.exact()) continue;  // it came back
    const PageId page = sequence.pages[static_cast<std::size_t>(client.computed / page_size)];
    const auto copy = targets.find(page);
    Require(copy != targets.end() && copy->second->slots == slots,
            "begins behind %d slots of page %d that nothing copies", client.id, slots, page);
    targets.erase(copy);
  }
  Require(targets.empty(), "a copy for nobody");
}

// Every decoding request has its token, and what prefills did not get was not there.
void BatchCheck::CheckShares() const {
  std::int64_t prompts = 0;
  std::int64_t decodes = 0;
  std::int64_t running = 0;
  bool cut = false;  // what such a chunk leaves of a step is nobody's
  for (const auto& [id, tokens] : tokens_) {
    (stage_[id].prefill ? prompts : decodes) += tokens;
  }
  const std::int64_t room = stage_.PromptRoom(decodes);
  Require(prompts <= room, "a step has %d tokens of prompts", kNobody, prompts);
  for (const Client& client : stage_.clients) cut = cut || (client.running && client.cuts_chunks());
  for (const Client& client : stage_.clients) {
    if (!client.running) continue;
    ++running;
    const auto found = tokens_.find(client.id);
    const std::int64_t got = found == tokens_.end() ? 0 : found->second;
    if (!client.prefill) {
      Require(got == 1, "decodes, and got %d tokens of a step", client.id, got);
      continue;
    }
    Require(got >= client.remaining() || cut || prompts == room,
            "got %d tokens of %d, where prompts have %d", client.id, got, client.remaining(),
            prompts);
  }
  Require(running <= stage_.scenario.scheduler.max_running, "%d requests run", kNobody, running);
}

void BatchCheck::CheckContents(const Batch& batch) {
  for (const Sequence& sequence : batch.sequences) {
    const Client& client = stage_[sequence.request];
    const std::vector<Slot> slots = client.oracle.SlotsBefore(client.computed);
    const std::int64_t wrong =
        stage_.model.FirstWrong(sequence.pages, slots, sequence.gap, sequence.open_page);
    Require(wrong < 0, "reads a wrong slot, number %d, in page %d", client.id, wrong,
            wrong < 0 ? 0 : sequence.pages[sequence.gap.place(wrong / stage_.page_size())]);
  }
}

}  // namespace banyan::sim
