// Where each byte of a rendering came from, whatever a template does to it.
#include <string>

#include "boost/json.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/jinja/render.h"
#include "text/jinja/program.h"

namespace banyan::text::jinja {
namespace {

namespace json = boost::json;

const json::value& Message() {
  static const json::value message = json::parse(R"({
    "text": "abc def", "role": "user", "pad": "  mid  ", "lines": "x\ny\n", "quote": "a\"b<c",
    "list": ["p", "q"], "map": {"k": "v", "n": 12, "t": true, "f": 1.5, "z": null}, "number": 42,
    "digits": "17", "empty": "", "upper": "UP", "marks": "<|im_end|>", "sign": "%s{}",
    "fills": "{:<<1}{:|<2}{:*^3}{:é>2}", "percents": "%%%%"})");
  return message;
}

// The rendering with what came with the request in brackets.
std::string Marked(const std::string& text) {
  Variables variables;
  variables.strings.emplace_back("bos", "<s>");
  variables.json.emplace_back("m", &Message());
  const auto program = Program::Parse(text);
  if (!program.ok()) return std::string(program.status().message());
  const auto pieces = program->Render(variables);
  if (!pieces.ok()) return std::string(pieces.status().message());
  std::string marked;
  const Piece* previous = nullptr;
  for (const Piece& piece : *pieces) {
    EXPECT_FALSE(piece.text.empty());
    EXPECT_TRUE(previous == nullptr || previous->origin != piece.origin) << "neighbours differ";
    previous = &piece;
    marked += piece.origin == Origin::kMessage ? "[" + piece.text + "]" : piece.text;
  }
  return marked;
}

struct Case {
  std::string text;
  std::string marked;
};

void ExpectAll(const std::vector<Case>& cases) {
  for (const Case& one : cases) EXPECT_EQ(Marked(one.text), one.marked) << one.text;
}

TEST(Provenance, OfTextAndVariables) {
  ExpectAll({
      {"a{{ bos }}b", "a<s>b"},
      {"a{{ m.text }}b", "a[abc def]b"},
      {"{{ m.text }}{{ m.role }}", "[abc defuser]"},
      {"{{ m['te' ~ 'xt'] }}", "[abc def]"},
      {"{% set x = m.text %}{% set ns = namespace(y=x) %}{{ ns.y }}!", "[abc def]!"},
      {"{% for k in m.map %}{{ k }},{% endfor %}", "[k],[n],[t],[f],[z],"},
      {"{% for k, v in m.map.items() %}{{ k }}={{ v }};{% endfor %}",
       "[k]=[v];[n]=[12];[t]=[True];[f]=[1.5];[z]=[None];"},
      {"{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(m.role) }}", "<[user]>"},
      {"{% set b %}<{{ m.role }}>{% endset %}{{ b }}", "<[user]>"},
      {"{% filter upper %}a{{ m.role }}{% endfilter %}", "A[USER]"},
      {"{% macro f() %}({{ caller() }}){% endmacro %}{% call f() %}a{{ m.role }}{% endcall %}",
       "(a[user])"},
      {"{{ m.role if m.role == 'user' else 'x' }}{{ 'user' if m.role else '' }}", "[user]user"},
      {"{{ m.nothing|default('d') }}{{ m.empty or 'e' }}", "de"},
  });
}

TEST(Provenance, OfConcatenations) {
  ExpectAll({
      {"{{ '<|im' ~ m.role ~ 'end|>' }}", "<|im[user]end|>"},
      {"{{ '<' + m.role + '>' }}", "<[user]>"},
      {"{{ ('<' + m.role) * 2 }}", "<[user]<[user]"},
      {"{{ m.number ~ 'x' ~ 1 ~ m.map.t }}", "[42]x1[True]"},
      {"{{ ['<', m.role, '>']|join }}", "<[user]>"},
      {"{{ ['a', 'b']|join(m.role) }}", "a[user]b"},
      {"{{ m.list|join('+') }}", "[p]+[q]"},
      {"{{ '+'.join(m.list) }}{{ m.role.join(['a', 'b']) }}", "[p]+[q]a[user]b"},
      {"{{ '<%s|%5s|%-5s>' % (m.role, 'a', m.list[0]) }}", "<[user]|    a|[p]    >"},
      {"{{ '%d%s' % (m.number, 7) }}", "[42]7"},
      {"{{ m.sign % 'x' }}", "x[{}]"},
      {"{{ m.sign[:2] % 'x' }}{{ m.sign[2:].format('y') }}", "xy"},
      {"{{ '<{}|{:>6}|{x}>'.format(m.role, m.role, x=m.number) }}", "<[user]|  [user]|[42]>"},
      // What a format fills with is the format's.
      {"{{ m.fills.format('', '', 'x', 'y') }}", "[<||*]x[*\u00e9]y"},
      {"{{ m.percents % () }}{{ '{:*>3}'.format(m.role[:1]) }}", "[%%]**[u]"},
      {"{{ '%(a)s' % {'a': m.role} }}{{ '%s'|format(m.role) }}", "[useruser]"},
      {"{{ m.number + 1 }}{{ 1 + 1 }}{{ -m.number }}{{ m.number / 2 }}", "[43]2[-4221.0]"},
  });
}

TEST(Provenance, OfPartsOfMixedStrings) {
  const std::string set = "{% set s = 'ab' ~ m.text ~ 'cd' %}";  // ababc defcd
  ExpectAll({
      {set + "{{ s[1:5] }}", "b[abc]"},
      {set + "{{ s[0] }}{{ s[2] }}{{ s[-1] }}", "a[a]d"},
      {set + "{{ s[::-1] }}", "dc[fed cba]ba"},
      {set + "{{ s[2:9] }}|{{ s[:2] }}{{ s[9:] }}", "[abc def]|abcd"},
      {set + "{{ s.split(' ')[0] }}|{{ s.split(' ')|last }}", "ab[abc]|[def]cd"},
      {set + "{{ s.split('cd') }}", "['ab[abc def]', '']"},
      {set + "{{ s.partition(' ')[2] }}", "[def]cd"},
      {set + "{% for c in s %}{{ c }}.{% endfor %}", "a.b.[a].[b].[c].[ ].[d].[e].[f].c.d."},
      {set + "{{ s|list|join }}", "ab[abc def]cd"},
      {set + "{{ s|reverse }}", "dc[fed cba]ba"},
      {set + "{{ (s ~ s)[7:13] }}", "[ef]cdab"},
      {set + "{{ s.removeprefix('ab').removesuffix('cd') }}", "[abc def]"},
      {set + "{{ s|first }}{{ s|last }}", "ad"},
      {set + "{{ s|truncate(8, true, '..', 0) }}", "ab[abc ].."},
  });
}

TEST(Provenance, OfStringsThatChange) {
  const std::string set = "{% set s = 'ab' ~ m.text ~ 'cd' %}";
  ExpectAll({
      {set + "{{ s|upper }}{{ s.upper()|lower }}", "AB[ABC DEF]CDab[abc def]cd"},
      {set + "{{ s|title }}{{ s|capitalize }}{{ m.role|capitalize }}",
       "Ab[abc Def]cdAb[abc def]cd[User]"},
      {"{{ '  ' ~ m.pad ~ ' '|trim }}|{{ (' a' ~ m.pad)|trim }}", "  [  mid  ]|a[  mid]"},
      {"{{ m.pad|trim }}{{ m.pad.strip() }}{{ m.pad.lstrip() }}", "[midmidmid  ]"},
      {"{{ 'a-b'|replace('-', m.role) }}", "a[user]b"},
      {set + "{{ s|replace('b', '.') }}", "a.[a.c def]cd"},
      {set + "{{ s.replace('bab', 'X') }}", "a[Xc def]cd"},
      // The message decides where a replacement comes to stand.
      {"{{ m.text|replace('abc', '<|im_end|>') }}", "[<|im_end|> def]"},
      {"{{ 'x-y'|replace('-', '<s>') }}{{ m.empty|replace('', '<s>') }}", "x<s>y[<s>]"},
      {"{{ m.lines|indent(2, true) }}", "  [x\n]  [y\n]"},
      {"{{ ('a\n' ~ m.lines)|indent }}", "a\n    [x\n]    [y\n]"},
      {"{{ m.lines.splitlines() }}", "['[x]', '[y]']"},
      {"{{ m.role.ljust(6) }}|{{ m.role.center(8, '*') }}|{{ m.digits.zfill(4) }}",
       "[user]  |**[user]**|00[17]"},
      {"{{ m.quote|e }}{{ ('<' ~ m.quote)|escape }}", "[a&#34;b&lt;c]&lt;[a&#34;b&lt;c]"},
      {"{{ m.quote|safe }}{{ '<'|safe + m.quote }}", "[a\"b<c]<[a&#34;b&lt;c]"},
      {"{{ 'ß' ~ m.role|upper }}{{ ('ß' ~ m.role)|upper }}", "ß[USER]SS[USER]"},
      {"{{ ('a\t' ~ m.role).expandtabs(4) }}", "a   [user]"},
      {"{{ m.digits|int + 1 }}{{ '17'|int + 1 }}{{ m.digits|float }}", "[18]18[17.0]"},
      {"{{ m.text|length }}{{ m.text.find('d') }}{{ m.text is string }}", "74True"},
  });
}

TEST(Provenance, OfListsAndMappingsAsText) {
  ExpectAll({
      {"{{ m.list }}", "['[p]', '[q]']"},
      {"{{ m.map }}", "{'[k]': '[v]', '[n]': [12], '[t]': [True], '[f]': [1.5], '[z]': [None]}"},
      {"{{ [m.quote, 1] }}", "['[a\"b<c]', 1]"},
      {"{{ m.list|sort(reverse=true)|map('upper')|list }}", "['[Q]', '[P]']"},
      {"{{ (m.list + ['t'])|reverse|join(',') }}", "t,[q],[p]"},
      {"{{ [m.map]|map(attribute='k')|first }}{{ [m]|selectattr('role')|map(attribute='role')|join "
       "}}",
       "[vuser]"},
      {"{{ m.map|dictsort|first }}", "('[f]', [1.5])"},
      {"{{ [m.list, ['a']]|sum(start=[])|join }}", "[pq]a"},
      {"{{ [{'g': m.role}, {'g': 'user'}]|groupby('g')|map('first')|join }}", "[user]"},
      {"{{ ['b', m.list[0], 'z']|max }}{{ m.list|unique|join }}", "z[pq]"},
      {"{{ m.list|batch(1)|list }}", "[['[p]'], ['[q]']]"},
  });
}

// What tojson adds is the template's; strings with their escapes, keys, numbers and words keep
// theirs.
TEST(Provenance, OfJson) {
  ExpectAll({
      {"{{ m.quote|tojson }}", "\"[a\\\"b<c]\""},
      {"{{ m.map|tojson }}",
       "{\"[k]\": \"[v]\", \"[n]\": [12], \"[t]\": [true], \"[f]\": [1.5], \"[z]\": [null]}"},
      {"{{ {'a': m.role, 'b': 1}|tojson }}", "{\"a\": \"[user]\", \"b\": 1}"},
      {"{{ ('<' ~ m.lines)|tojson }}", "\"<[x\\ny\\n]\""},
      {"{{ m.list|tojson(indent=1) }}", "[\n \"[p]\",\n \"[q]\"\n]"},
      {"{{ m.list|tojson(separators=(m.role, ':')) }}", "[\"[p]\"[user]\"[q]\"]"},
      {"{{ (m.map|tojson)[1:5] }}", "\"[k]\":"},
      {"{{ m.marks|tojson }}{{ '<|im_end|>'|tojson }}", "\"[<|im_end|>]\"\"<|im_end|>\""},
  });
}

TEST(Provenance, PlaysNoPartInComparisons) {
  ExpectAll({
      {"{{ m.role == 'user' }}{{ 'user' in [m.role] }}{{ m.role < 'v' }}", "TrueTrueTrue"},
      {"{{ {'user': 'found'}[m.role] }}{{ m.map['k'] }}", "found[v]"},
      {"{{ m.role is eq 'user' }}{{ m.number == 42 }}", "TrueTrue"},
      {"{{ {'k': 1, m.list[0]: 2}|tojson }}", "{\"k\": 1, \"[p]\": 2}"},
      {"{% set d = dict(m.map, k='t') %}{{ d.k }}", "t"},
  });
}

}  // namespace
}  // namespace banyan::text::jinja
