#include "loadtest/client/vocabulary.h"

namespace banyan::loadtest {

const std::vector<std::string>& CandidateWords() {
  static const std::vector<std::string> words = {
      "the",     "of",       "and",       "to",        "in",      "is",      "that",    "it",
      "was",     "for",      "on",        "are",       "as",      "with",    "his",     "they",
      "at",      "be",       "this",      "from",      "have",    "or",      "by",      "one",
      "had",     "not",      "but",       "what",      "all",     "were",    "when",    "we",
      "there",   "can",      "an",        "your",      "which",   "their",   "said",    "if",
      "do",      "will",     "each",      "about",     "how",     "up",      "out",     "them",
      "then",    "she",      "many",      "some",      "so",      "these",   "would",   "other",
      "into",    "has",      "more",      "her",       "two",     "like",    "him",     "see",
      "time",    "could",    "no",        "make",      "than",    "first",   "been",    "its",
      "who",     "now",      "people",    "my",        "made",    "over",    "did",     "down",
      "only",    "way",      "find",      "use",       "may",     "water",   "long",    "little",
      "very",    "after",    "words",     "called",    "just",    "where",   "most",    "know",
      "get",     "through",  "back",      "much",      "before",  "go",      "good",    "new",
      "write",   "our",      "used",      "me",        "man",     "too",     "any",     "day",
      "same",    "right",    "look",      "think",     "also",    "around",  "another", "came",
      "come",    "work",     "three",     "word",      "must",    "because", "does",    "part",
      "even",    "place",    "well",      "such",      "here",    "take",    "why",     "things",
      "help",    "put",      "years",     "different", "away",    "again",   "off",     "went",
      "old",     "number",   "great",     "tell",      "men",     "say",     "small",   "every",
      "found",   "still",    "between",   "name",      "should",  "home",    "big",     "give",
      "air",     "line",     "set",       "own",       "under",   "read",    "last",    "never",
      "us",      "left",     "end",       "along",     "while",   "might",   "next",    "sound",
      "below",   "saw",      "something", "thought",   "both",    "few",     "those",   "always",
      "show",    "large",    "often",     "together",  "asked",   "house",   "world",   "going",
      "want",    "school",   "important", "until",     "form",    "food",    "keep",    "children",
      "feet",    "land",     "side",      "without",   "boy",     "once",    "animals", "life",
      "enough",  "took",     "sometimes", "four",      "head",    "above",   "kind",    "began",
      "almost",  "live",     "page",      "got",       "earth",   "need",    "far",     "hand",
      "high",    "year",     "mother",    "light",     "country", "father",  "let",     "night",
      "picture", "being",    "study",     "second",    "soon",    "story",   "since",   "white",
      "ever",    "paper",    "hard",      "near",      "better",  "best",    "across",  "during",
      "today",   "however",  "sure",      "knew",      "try",     "told",    "young",   "sun",
      "thing",   "whole",    "hear",      "example",   "heard",   "several", "change",  "answer",
      "room",    "sea",      "against",   "top",       "turned",  "learn",   "point",   "city",
      "play",    "toward",   "five",      "himself",   "usually", "money",   "seen",    "car",
      "morning", "body",     "family",    "later",     "turn",    "move",    "face",    "door",
      "cut",     "done",     "group",     "true",      "half",    "red",     "fish",    "plants",
      "living",  "wanted",   "black",     "eat",       "short",   "united",  "run",     "book",
      "gave",    "order",    "open",      "ground",    "cold",    "really",  "table",   "tree",
      "cannot",  "remember", "course",    "front",     "space",   "inside",  "ago",     "sad",
      "early",   "behind",   "blue",      "field",     "strong",  "winter",  "river",   "deep",
      "stone",   "market",   "window",    "garden",    "engine",  "letter",  "silver",  "mountain",
      "bridge",  "library",  "signal",    "copper",    "forest",  "island",  "machine", "weather",
      "music",   "doctor",
  };
  return words;
}

}  // namespace banyan::loadtest
