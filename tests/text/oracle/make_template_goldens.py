#!/usr/bin/env python3
"""Writes template_goldens.json: what jinja2 makes of small templates, one or a few for each thing of the
language.

    pip install -r ../../requirements.txt
    ./make_template_goldens.py > ../template_goldens.json

Names of themes are keys; a line is a template. VARIABLES are what all of them can name.
"""

import json
import platform
from importlib.metadata import version

import chat_environment

VARIABLES = {
    "s": "Hello, Wörld", "t": "  a b\tc \n", "e": "", "n": 7, "m": -3, "f": 2.5, "yes": True, "no": False, "null": None,
    "list": [3, 1, 2], "words": ["b", "A", "c", "a"], "empty": [], "d": {"b": 1, "a": "x", "items": 5, "c": None},
    "people": [{"name": "Ann", "age": 31, "home": {"city": "Oslo"}}, {"name": "bob", "age": 25, "home": {"city": "Bonn"}},
               {"name": "Cid", "age": 31, "home": {}}],
    "nested": [[1, [2, 3]], [4]], "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}],
    "html": "<a href=\"x\">'&'</a>", "big": 18446744073709551615,
}

THEMES = {
    "text and white space": [
        "a\n{% if yes %}\n  b\n{% endif %}\nc\n", "a\n  {% if yes %}  b  {% endif %}  \nc", "a  {%- if yes -%}  b  {%- endif -%}  c",
        "a\n\n{{- n -}}\n\nb", "a {{ n }}\n", "a\n", "a\n\n", "a\r\nb\rc\r\n", "{# x #}a{#- y -#}\n b", "a\n  {# x #}\nb", "a\n  {#- x -#}\nb",
        "{%+ if yes %}x{% endif %}", "  {%+ if yes %}x{% endif +%}\ny", "  {% if yes %}\n\n x{% endif %}", "{% raw %}{{ n }} {% x %}{% endraw %}",
        "a\n  {% raw -%}  b {{ {%- endraw %}  \nc", "{{ '{{' }} {{ '}}' }} {{ '%}' }}", "{{ {'a': {'b': 1}}['a']['b'] }}", "{ {n} } {{n}}%}}}", "{{n}}}",
        "\u00a0{%- if yes %}x{% endif -%}\u3000y", "{%- set x = 1 %}\n\n{{ x }}", "{#-#}a", "{##}b", "{{\nn\n}}", "a{% if yes %}\nb{% endif %}\n\nc",
        "\t{% if yes %}x{% endif %}\n\t\t{% if yes %}y\n\t{% endif %}z", "{{+ n }}", "x {{- n }} {{ n -}} x", "{% if yes -%}\n a \n{%- endif %}",
    ],
    "literals": [
        "{{ 'a' 'b' \"c\" }}", "{{ 'a\\n\\t\\\\\\'\\\"\\x41\\u00e9\\U0001F44D\\101\\q' }}", "{{ 'a\\\nb' }}", "{{ 1_000 }} {{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 00 }}",
        "{{ 1.5 }} {{ 1e3 }} {{ 1.5E-7 }} {{ 1_0.5_0 }} {{ 1e16 }} {{ 123456789012345680.0 }} {{ 1e22 }} {{ 0.0001 }} {{ 0.00001 }}",
        "{{ true }} {{ True }} {{ false }} {{ none }} {{ None }}", "{{ [] }} {{ [1, 'a', none,] }} {{ () }} {{ (1,) }} {{ (1, 2) }} {{ 1, 2 }}",
        "{{ {} }} {{ {'a': 1, 2: 'b', none: true, 1.5: (1,)} }}", "{{ {'a': 1, 'a': 2} }}", "{{ 'é' }} {{ '日本' }}", "{{ '''' }}", "{{ 9223372036854775807 }}",
        "{{ 3.0 }} {{ -0.0 }} {{ 1/3 }} {{ 2/3 }} {{ 0.1 + 0.2 }} {{ 1e308 * 10 }} {{ -1e308 * 10 }} {{ 100000.0 * 1e11 }}",
    ],
    "operators": [
        "{{ 1 + 2 * 3 - 4 / 2 }}", "{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }}", "{{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 4 ** 0.5 }}",
        "{{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ 3 * 'ab' }} {{ 'ab' * -1 }}|", "{{ [1] + [2] }} {{ [1, 2] * 2 }} {{ (1,) + (2,) }}", "{{ 1 ~ 'a' ~ none ~ 2.0 ~ true ~ [1] }}", "{{ undefined_thing ~ 'x' }}",
        "{{ 1 == 1.0 }} {{ 1 == true }} {{ '1' == 1 }} {{ [1, 2] == [1, 2.0] }} {{ (1,) == [1] }} {{ {'a': 1} == {'a': 1} }} {{ none == false }}", "{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 1 < 2 == 2 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 'Z' < 'a' }} {{ 'é' > 'z' }}",
        "{{ 1 != 2 }} {{ 1 <= 1 }} {{ 2 >= 3 }}", "{{ 'a' in 'cat' }} {{ 1 in [1, 2] }} {{ 'b' in d }} {{ 'x' not in d }} {{ not 1 in [2] }} {{ '' in '' }}", "{{ yes and 'x' }} {{ no and 'x' }} {{ '' or 'y' }} {{ 0 or none }} {{ not '' }} {{ not not 3 }}",
        "{{ 'a' if yes else 'b' }} {{ 'a' if no else 'b' }} {{ 'a' if no }}| {{ 'a' if no else 'b' if no else 'c' }}", "{{ +3 }} {{ -n }} {{ - -3 }} {{ +f }} {{ -yes }}", "{{ -3|abs }} {{ (2 + 3)|string ~ '!' }} {{ 1 + 2|float }}", "{{ true + true }} {{ true * 'x' }}",
        "{{ '%s is %d' % ('a', 3) }} {{ '%s' % 'x' }} {{ '%5.2f|%-6s|%06d|%+d|%x|%X|%o|%e|%g|%c|%%' % (3.14159, 'ab', 42, 5, 255, 255, 8, 12345.678, 0.0001, 'z') }}", "{{ '%(a)s-%(b)s' % {'a': 1, 'b': 'x'} }} {{ '%r' % 'it' }} {{ '%s' % [1, 'a'] }} {{ '%.3s|' % 'abcdef' }} {{ '%*d' % (5, 3) }}",
        "{{ [1, 2] in [[1, 2]] }} {{ none in [none] }} {{ 2 in (1, 2) }} {{ 3 in range(5) }}", "{{ big }} {{ big == big }} {{ big > 5 }}", "{{ 5 / 2 }} {{ 4 / 2 }} {{ 1e3 // 7 }}", "{{ 1 if 2 is even and 3 is odd else 0 }}", "{{ 'b' not in 'abc' }} {{ not ('b' in 'abc') }}",
        "{{ n > 5 and n < 10 }} {{ n in [7] and yes }}", "{{ (1, 2) < (1, 3) }} {{ true == 1 }} {{ false < true }}",
    ],
    "subscripts": [
        "{{ s[0] }}{{ s[-1] }}{{ s[8] }}", "{{ s[1:3] }} {{ s[:-1] }} {{ s[-5:] }} {{ s[::-1] }} {{ s[::2] }} {{ s[10:2:-3] }} {{ s[100:] }}|{{ s[:100] }}", "{{ list[0] }} {{ list[-1] }} {{ list[1:] }} {{ list[::-1] }} {{ list[9] }}| {{ list[:2] }}", "{{ (1, 2, 3)[1:] }} {{ range(10)[3] }} {{ range(10)[2:8:3]|list }}",
        "{{ d.a }} {{ d['a'] }} {{ d.zz }}| {{ d['zz'] }}| {{ d.items is callable }} {{ d['items'] }}", "{{ people[0].home.city }} {{ people.0.name }} {{ people[2].home.city }}|", "{{ {1: 'one'}[1] }} {{ {1: 'one'}[1.0] }} {{ {true: 'x'}[1] }} {{ {(1, 2): 'p'}[(1, 2)] }}", "{{ s.upper() }} {{ s['upper']() }} {{ s.nothing is defined }}",
        "{{ null.x is defined }} {{ n.x is defined }} {{ none['x'] is undefined }}", "{{ d.get('a') }} {{ d.get('q') }} {{ d.get('q', 3) }} {{ d.keys()|list }} {{ d.values()|list }} {{ d.items()|list }}", "{{ d.keys() }} {{ d.items() }} {{ {}.values() }}", "{{ d.pop is defined }} {{ list.append is defined }} {{ d.update is defined }} {{ 'x'.__class__ is defined }}",
        "{{ list.index(1) }} {{ list.count(3) }} {{ (1, 1).count(1) }}", "{{ d.copy() == d }} {{ list.copy() }}", "{{ s[true] }} {{ list[false] }}", "{{ s[n:] }} {{ s[:n:2] }} {{ list[none:2] }}", "{{ (d.items()|list)[0][1] }} {{ 'abc'[1:][0] }}", "{{ list[-3:-1] }} {{ list[-9:9:2] }} {{ list[2:0:-1] }} {{ list[:-4:-1] }}",
        "{{ d[[]] }}|{{ 1.x }}|", "{{ '' [0:1] }}|{{ [][0:1] }}|{{ ''[0] }}|",
    ],
    "undefined": [
        "{{ x }}|{{ x|default('d') }}|{{ x is defined }}|{{ x is undefined }}|{{ not x }}", "{{ x|length }}{{ x|list }}{{ x|join(',') }}{{ x|upper }}{{ x|trim }}{{ x|first }}|{{ x|last }}|", "{% for i in x %}{{ i }}{% else %}none{% endfor %}", "{{ x == y }} {{ x == none }} {{ 1 in x }} {{ x|string }}| {{ [x] }} {{ x|sort }}",
        "{{ x is iterable }} {{ x is sequence }} {{ x is mapping }} {{ x is string }} {{ x is none }} {{ x is number }} {{ x is callable }}", "{{ x|items|list }} {{ x|map('upper')|list }} {{ x|selectattr('a')|list }} {{ x|replace('a', 'b') }}|{{ x|reverse|list }}|{{ x|unique|list }}", "{{ d.x is defined and d.x.y }}", "{{ (x or 'y') ~ (d.q or 'z') }}",
        "{{ x|default }}|{{ x|d('a', true) }}|{{ ''|default('b', true) }}|{{ none|default('c') }}|{{ 0|default(1, boolean=true) }}",
    ],
    "errors": [
        "{{ x.y }}", "{{ x + 1 }}", "{{ 1 + x }}", "{{ x() }}", "{{ x['a'] }}", "{{ x < 1 }}", "{{ -x }}", "{{ 1 + 'a' }}", "{{ 'a' + 1 }}", "{{ [1] + (2,) }}", "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ 1.5 / 0 }}", "{{ none + 1 }}", "{{ none|length }}", "{{ 5|length }}",
        "{{ none|list }}", "{{ 5 in 5 }}", "{{ 1 in 'a' }}", "{{ 1 < 'a' }}", "{{ [1] < (1,) }}", "{{ {} < {} }}", "{{ none < 1 }}", "{{ d.nope() }}", "{{ s.nope() }}", "{{ list.append(1) }}", "{{ d.pop('a') }}", "{{ d.update({}) }}", "{{ 'x'() }}", "{{ s|nofilter }}", "{{ s is notest }}",
        "{% for i in 5 %}{% endfor %}", "{% for i in none %}{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}", "{% set a, b = [1] %}", "{% set x.y = 1 %}", "{% set d.y = 1 %}", "{{ raise_exception('stop ' ~ n) }}", "{{ raise_exception() }}",
        "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=1) }}", "{{ range(1000000) }}", "{{ range(1, 2, 0) }}", "{{ range('a') }}", "{{ {[]: 1} }}", "{{ [{}]|unique|list }}", "{{ [1, 'a']|sort }}", "{{ s.split('') }}", "{{ s.index('zz') }}",
        "{{ '%d' % 'a' }}", "{{ '%s %s' % 'a' }}", "{{ '%s' % (1, 2) }}", "{{ '{}'.format() }}", "{{ '{x}'.format(1) }}", "{{ '{'.format() }}", "{{ x|tojson }}", "{{ range(3)|tojson }}", "{{ {(1,): 1}|tojson }}", "{{ d|dictsort(by='x') }}", "{{ s|join(',', 1, 2) }}", "{{ 'a'.join([1]) }}",
        "{{ list|first(1) }}", "{{ loop.index }}", "{{ caller() }}", "{{ list|map|list }}", "{{ list|map('nofilter')|list }}", "{{ list|select('notest')|list }}", "{{ s[1:2:0] }}", "{{ list['a':] }}", "{{ d[1:2] }}", "{{ null[1:2] }}", "{{ [] in {} }}", "{{ 'a' * 1.5 }}", "{{ -'a' }}",
        "{{ (list|map('upper'))|length }}", "{{ (list|map('upper'))|last }}", "{{ x|int }}", "{{ x|float }}", "{{ x|abs }}", "{{ x|round }}", "{{ x|dictsort }}", "{{ 5|items|list }}", "{{ none|items|list }}", "{{ 5|join }}", "{{ d.get([]) }}", "{{ d.get() }}", "{{ dict(1) }}", "{{ dict([1]) }}",
        "{% for i in list %}{{ loop(i) }}{% endfor %}", "{% for i in list %}{{ loop.cycle() }}{% endfor %}", "{{ 'x' is divisibleby 2 }}", "{{ 3 is divisibleby 0 }}", "{{ x is odd }}", "{{ none|sum }}", "{{ ['a']|sum }}", "{{ none|map('upper') is defined }}{{ 5|map('upper')|list }}",
        "{{ ns.x }}", "{% set ns = namespace() %}{{ ns['x'] + 1 }}", "{{ s.startswith(1) }}", "{{ s.replace('a') }}", "{{ s.strip(1) }}", "{{ strftime_now(1) }}",
    ],
    "no templates": [
        "{% if %}{% endif %}", "{% if x %}", "{% endif %}", "{% for x %}{% endfor %}", "{{ }}", "{{ a b }}", "{{ 'a }}", "{{ (1 }}", "{{ 1) }}", "{% set 1 = 2 %}", "{% set true = 2 %}", "{% nope %}", "{{ a. }}", "{{ a| }}", "{{ a is }}", "{# a", "{% raw %}a", "{{ a", "{% if a", "{{ a ! b }}", "{{ a ? b }}",
        "{% break %}", "{% continue %}", "{% for a in b %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}", "{% macro m(a=1, b) %}{% endmacro %}", "{% call x %}{% endcall %}", "{{ f(a=1, 2) }}", "{{ f(**a, *b) }}", "{{ [1, 2 }}", "{{ {1: 2, 3} }}", "{% include %}", "{{ 'a' is string is string }}",
        "{% for a in b %}{% else %}{% else %}{% endfor %}", "{% elif x %}", "{{ a[ }}", "{{ 'a\\x4' }}", "{% set %}", "{% set a %}", "{% macro %}{% endmacro %}", "{% filter %}{% endfilter %}", "{{ a..b }}", "{{ f(a=1, a=2) }}", "{{ $ }}", "{% if a = b %}{% endif %}",
    ],
    "if": [
        "{% if n == 7 %}a{% elif n == 8 %}b{% else %}c{% endif %}", "{% if no %}a{% elif yes %}b{% elif yes %}c{% endif %}", "{% if no %}a{% endif %}|", "{% if yes: %}a{% endif %}", "{% if n > 5 and s %}a{% endif %}", "{% if (no, yes) %}a{% endif %}", "{% if no %}{% set q = 1 %}{% endif %}{{ q }}|", "{% if yes %}{% set q = 1 %}{% endif %}{{ q }}",
        "{% if [] %}a{% endif %}{% if {} %}b{% endif %}{% if 0.0 %}c{% endif %}{% if '0' %}d{% endif %}{% if range(0) %}e{% endif %}{% if none %}f{% endif %}{% if [none] %}g{% endif %}",
    ],
    "for": [
        "{% for i in list %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.depth }}{{ loop.depth0 }}|{% endfor %}", "{% for i in list %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}", "{% for i in list %}{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for i in [1, 1, 2, 2, 1] %}{{ loop.changed(i) }} {% endfor %}",
        "{% for i in list if i > 1 %}{{ loop.index }}:{{ i }}/{{ loop.length }}{{ loop.last }} {% endfor %}", "{% for i in list if i > 5 %}x{% else %}none{% endfor %}", "{% for i in empty %}x{% else %}{{ i }}none{% endfor %}", "{% for a, b in d.items() %}{{ a }}={{ b }};{% endfor %}", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for c in s %}{{ c }}.{% endfor %}",
        "{% for i in range(5) %}{% if i == 3 %}{% break %}{% endif %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "{% for i in range(3) %}{% for j in range(3) %}{% if j == 1 %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% endfor %}", "{% for i in tree recursive %}{{ i.v }}({{ loop.depth }}){% if i.kids %}[{{ loop(i.kids) }}]{% endif %}{% endfor %}",
        "{% for i in tree recursive %}{{ i.v }}{{ loop(i.kids) }}{% else %}.{% endfor %}", "{% set x = 1 %}{% for i in list %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}", "{% for i in list %}{% set y = i %}{% endfor %}{{ y }}|{{ i }}|", "{% for i in list %}{% for j in list %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}", "{% for i in 'ab' ~ 'c' %}{{ i }},{% endfor %}",
        "{% for i in list|sort %}{{ i }}{% endfor %}", "{% for p in people|selectattr('age', '>', 30) %}{{ p.name }}{{ loop.last }} {% endfor %}", "{% for p in people|selectattr('age', '>', 30) %}{{ loop.length }}{{ loop.revindex }}{% endfor %}", "{% set g = list|map('string') %}{{ g|join }}|{{ g|join }}", "{% for i in (1, 2), %}{{ i }}{% endfor %}", "{% for i in 1, 2 %}{{ i }}{% endfor %}",
        "{% for i in list if loop is defined %}{{ i }}{% endfor %}", "{% set ns = namespace(on=true) %}{% for i in list if ns.on %}{{ i }}{% set ns.on = false %}{% endfor %}", "{% for i in list %}{{ loop|length }}{% endfor %}", "{% for i in list -%}\n  {{ i }}\n{%- endfor %}", "{% for i in d.values() %}{{ i }}{{ loop.last }}{% endfor %}",
        "{% for i in list %}{% if loop.index is even %}{{ i }}{% endif %}{% endfor %}", "{% for i in range(2) %}{% for j in range(2) %}{{ loop.first and i == 1 }} {% endfor %}{% endfor %}", "{% for i in list[1:] %}{{ loop.previtem is defined }}{% endfor %}", "{% for x in list %}{% else %}z{% endfor %}|",
    ],
    "set": [
        "{% set x = 1 %}{{ x }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = 'xy' %}{{ b }}{{ a }}", "{% set x = 1, 2 %}{{ x }}", "{% set x %}a{{ n }}b{% endset %}{{ x }}|{{ x|length }}", "{% set x | upper | trim %} abc {% endset %}{{ x }}", "{% set x %}{% set y = 1 %}{% endset %}{{ y }}|", "{% set ns = namespace(a=1, b='x') %}{% set ns.a = ns.a + 1 %}{% set ns.c = 3 %}{{ ns.a }}{{ ns.b }}{{ ns.c }}{{ ns.zz }}|",
        "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns['b'] }}", "{% set ns = namespace(n=0) %}{% for i in list %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", "{% set ns = namespace() %}{% set ns.x %}block{% endset %}{{ ns.x }}", "{% set ns = namespace(a=1) %}{% set ns.a, b = 5, 6 %}{{ ns.a }}{{ b }}", "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set c = 3 %}{{ c }}{% endwith %}{{ a }}{{ c }}|",
        "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% filter upper %}a{{ s }}b{% endfilter %}", "{% filter trim|replace('a', 'b') %}  aa  {% endfilter %}|", "{% filter upper %}{% set q = 1 %}{% endfilter %}{{ q }}|", "{% generation %}a{{ n }}{% set g = 1 %}{% endgeneration %}{{ g }}|", "{% do list %}x", "{% print n %}", "{% set x = n if no else 'q' %}{{ x }}",
        "{% set x = {'a': [1, {'b': 2}]} %}{{ x.a[1].b }}", "{% set n = n + 1 %}{{ n }}", "{% set s = s[:2] %}{{ s }}", "{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a }}|",
    ],
    "macros": [
        "{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=5, a=4) }} {{ m() }}|", "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}", "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m(a) %}{{ varargs|length }}{% endmacro %}{{ m(1, 2, 3) }}", "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}x{{ n }}{% endcall %}",
        "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) m() %}{{ a }}-{{ b }}{% endcall %}", "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}", "{% macro f(k) %}{{ k }}{% if k > 0 %}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% set x = 1 %}{% macro m() %}{{ x }}{% set x = 2 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}", "{% macro m() %}{{ late }}{% endmacro %}{% set late = 'L' %}{{ m() }}",
        "{% for i in list %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "{% macro m() %} a {% endmacro %}{{ m()|trim }}{{ m() is string }}{{ m is callable }}", "{% macro m(x) %}{% if x %}{{ x }}{% endif %}{%- endmacro %}{{ m('a') ~ m('') }}", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}", "{{ m is defined }}{% macro m() %}{% endmacro %}{{ m is defined }}",
        "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}{{ m(5, **{'b': 6}) }}", "{% macro m(items) %}{% for i in items %}{{ i }}{% endfor %}{% endmacro %}{{ m(list) }}{{ m(items=words) }}", "{% macro outer() %}{% macro inner(x) %}<{{ x }}>{% endmacro %}{{ inner(1) }}{% endmacro %}{{ outer() }}", "{% macro m(caller=none) %}{{ caller() if caller else 'no' }}{% endmacro %}{{ m() }}{% call m() %}yes{% endcall %}",
        "{% macro m(d) %}{{ d.b }}{% endmacro %}{{ m(d) }}", "{% macro m() %}{% for i in list %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% endfor %}{% endmacro %}{{ m() }}", "{% macro each(l) %}{% for i in l %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(v) each(list) %}({{ v }}){% endcall %}",
    ],
    "filters of text": [
        "{{ s|upper }} {{ s|lower }} {{ 'ß ﬁ İ ΑΣ ΑΣ. Σ ǆ'|upper }} {{ 'İ ΑΣ ΑΣ. Σ ΣΑ ǅ'|lower }}", "{{ 'hELLO wORLD'|capitalize }} {{ 'ǆx'|capitalize }} {{ ''|capitalize }}", "{{ 'hello wORLD-foo bar_baz (x) it\\'s <y'|title }}", "{{ t|trim }}|{{ 'xxaxx'|trim('x') }}|{{ '\u00a0\u3000a\u2003'|trim }}|{{ 5|trim }}", "{{ s|replace('l', 'L') }} {{ s|replace('l', 'L', 1) }} {{ 'aaa'|replace('', '-') }} {{ 1112|replace(1, 2) }} {{ s|replace('zz', 'y') }} {{ 'aaa'|replace('aa', 'b') }} {{ 'abc'|replace('', '-', 2) }}",
        "{{ list|join }} {{ list|join(', ') }} {{ words|join(d='-') }} {{ people|join(',', attribute='name') }} {{ 'abc'|join('.') }} {{ [1, none, x, 2.0]|join('/') }}", "{{ 'a\\nb\\n\\nc'|indent }}|{{ 'a\\nb\\n\\nc'|indent(2, true) }}|{{ 'a\\n\\nb'|indent(2, blank=true) }}|{{ 'a\\nb'|indent('> ') }}|{{ 'a\\n'|indent }}|{{ ''|indent(first=true) }}|",
        "{{ '%s-%s'|format(1, 'a') }} {{ '%(x)s'|format(x=2) }}", "{{ html|e }} {{ html|escape }} {{ html|safe }} {{ html|forceescape }} {{ html|e|e }} {{ html|e|forceescape }}", "{{ html|safe + '<b>' }} {{ '<b>' + html|safe }} {{ (html|safe) ~ '<b>' }} {{ ('<i>'|safe) * 2 }} {{ ('<%s>'|safe) % '<b>' }}", "{{ 'abc'|center(9) }}|{{ 'abcd'|center(9) }}|{{ 'abc'|center(8) }}|{{ 'abc'|center(2) }}",
        "{{ 'foo bar baz qux'|truncate(9) }} {{ 'foo bar baz qux'|truncate(9, true) }} {{ 'foo bar baz qux'|truncate(11) }} {{ 'foo bar baz qux'|truncate(11, false, '...', 0) }}", "{{ 'a b, c-d e_f ü'|wordcount }}", "{{ s|string }} {{ 1.0|string }} {{ none|string }} {{ [1, 'a']|string }}", "{{ s|length }} {{ s|count }} {{ d|length }} {{ '日本'|length }} {{ ''|length }}", "{{ s|list }} {{ s|first }} {{ s|last }} {{ s|reverse }}",
        "{{ 'it\\'s \"q\"' ~ ['it\\'s', 'a\"b', 'a\\'b\"', '\\n\\t\\\\', '\\x00\\x7f\\u200b\\u00a0é\\ue000'] }}", "{{ [html|safe] }}", "{{ none|upper }} {{ true|lower }} {{ 5|title }}", "{{ 'a'|trim|upper|replace('A', 'b')|length }}",
    ],
    "filters of lists": [
        "{{ list|first }} {{ list|last }} {{ empty|first }}| {{ empty|last }}| {{ list|length }} {{ list|list }} {{ d|list }} {{ d|first }}", "{{ list|sort }} {{ list|sort(reverse=true) }} {{ words|sort }} {{ words|sort(case_sensitive=true) }} {{ people|sort(attribute='age')|map(attribute='name')|list }} {{ people|sort(attribute='age,name', reverse=true)|map(attribute='name')|list }}", "{{ people|sort(true, attribute='age')|map(attribute='name')|join }}",
        "{{ {'b': 1, 'A': 2, 'c': 0}|dictsort }} {{ {'b': 1, 'A': 2, 'c': 0}|dictsort(true) }} {{ {'b': 1, 'A': 2, 'c': 0}|dictsort(by='value') }} {{ {'b': 1, 'A': 2}|dictsort(reverse=true) }}", "{{ ['a', 'A', 'b', 'a']|unique|list }} {{ ['a', 'A']|unique(true)|list }} {{ people|unique(attribute='age')|map(attribute='name')|list }} {{ [1, 1.0, true]|unique|list }}", "{{ list|reverse|list }} {{ (1, 2)|reverse|list }} {{ d|reverse|list }} {{ list|map('string')|reverse }}",
        "{{ [1, 2, 3]|min }} {{ [1, 2, 3]|max }} {{ words|min }} {{ words|max }} {{ empty|min }}| {{ people|max(attribute='age') }} {{ people|min(attribute='age') }} {{ ['b', 'A']|max(case_sensitive=true) }}", "{{ list|sum }} {{ people|sum(attribute='age') }} {{ list|sum(start=10) }} {{ [[1], [2]]|sum(start=[]) }} {{ [1, 2.5]|sum }}", "{{ range(7)|batch(3)|list }} {{ range(7)|batch(3, '-')|list }} {{ range(7)|slice(3)|list }} {{ range(7)|slice(3, 'x')|list }} {{ empty|batch(2)|list }}",
        "{% for g in people|groupby('age') %}{{ g.grouper }}:{{ g.list|map(attribute='name')|join(',') }} {% endfor %}", "{% for k, v in people|groupby('home.city', default='?') %}{{ k }}{{ v|length }} {% endfor %}", "{{ words|groupby(0) if false else 1 }}", "{{ d|items|list }} {{ {}|items|list }} {% for k, v in d|items %}{{ k }}{{ loop.last }}{% endfor %}", "{{ people|map(attribute='home.city')|list }} {{ people|map(attribute='home.city', default='-')|list }} {{ words|map('upper')|join }} {{ [' a ', 'b ']|map('trim')|list }} {{ [1, 2]|map('string')|list }} {{ ['a', 'b']|map('replace', 'a', 'z')|list }}",
        "{{ list|select('odd')|list }} {{ list|reject('odd')|list }} {{ [0, 1, '']|select|list }} {{ [0, 1]|reject|list }} {{ list|select('>', 1)|list }} {{ list|select('in', [1, 2])|list }} {{ ['a', 1]|select('string')|list }}", "{{ people|selectattr('age', 'equalto', 31)|map(attribute='name')|list }} {{ people|rejectattr('home.city')|list|length }} {{ people|selectattr('home.city', 'defined')|list|length }} {{ people|selectattr('nope')|list }} {{ people|rejectattr('age', 'lt', 30)|map(attribute='name')|join(' ') }}",
        "{{ people|selectattr('age', '==', 31)|first }} {{ people|selectattr('age', '==', 99)|first is defined }}", "{{ [3, 1]|map('float')|sum }} {{ ['1', 'x', '2']|map('int')|list }} {{ ['1', 'x']|map('int', -1)|list }} {{ ['1', 'x']|map('int', default=5)|list }}", "{{ list|attr('index') is callable }} {{ d|attr('a') is defined }}", "{{ [[1, 2], [3]]|map('length')|list }} {{ [[1, 2], [3]]|map('first')|list }} {{ nested|map('last')|list }}",
        "{{ 'abc'|map('upper')|list }} {{ d|map('upper')|list }}", "{{ none|map('upper')|list }} {{ none|select|list }} {{ ''|map('upper')|list }}", "{{ (list|select('odd'))|string != '' }} {{ (list|map('string')) is iterable }} {{ (list|map('string')) is sequence }} {{ (list|map('string')) is mapping }}",
    ],
    "filters of numbers": [
        "{{ '42'|int }} {{ ' 42 '|int }} {{ '4_2'|int }} {{ '42.9'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ '0x1f'|int(base=16) }} {{ 'ff'|int(0, 16) }} {{ '-5'|int }} {{ 3.9|int }} {{ -3.9|int }} {{ none|int }} {{ true|int }} {{ '1e3'|int }} {{ []|int }} {{ ''|int }}", "{{ '2.5'|float }} {{ 'x'|float }} {{ 'x'|float(1.5) }} {{ 3|float }} {{ '1e3'|float }} {{ 'inf'|float }} {{ '.5'|float }} {{ '5.'|float }} {{ 'nan'|float }}",
        "{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 2.1|round(0, 'ceil') }} {{ 2.9|round(method='floor') }} {{ 42.55|round(1, 'floor') }} {{ 5|round }} {{ -2.5|round }} {{ 1234.5|round(-2) }} {{ 1.005|round(2) }} {{ 1e300|round(2) }}", "{{ -3|abs }} {{ m|abs }} {{ 2.5|abs }} {{ (-2.5)|abs }} {{ true|abs }}", "{{ 3|string + '4' }} {{ '3'|int + 4 }} {{ (7 / 2)|int }}",
    ],
    "tojson": [
        "{{ d|tojson }} {{ list|tojson }} {{ s|tojson }} {{ none|tojson }} {{ true|tojson }} {{ 1.0|tojson }} {{ 1e22|tojson }} {{ [1e-7, 1e16, 123456.789]|tojson }} {{ big|tojson }}", "{{ people|tojson(indent=2) }}", "{{ {}|tojson(indent=2) }} {{ []|tojson(indent=4) }} {{ [[]]|tojson(indent=1) }} {{ [1]|tojson(indent='\\t') }} {{ [1, [2]]|tojson(indent=0) }}", "{{ d|tojson(sort_keys=true) }} {{ d|tojson(separators=(',', ':')) }} {{ d|tojson(indent=1, separators=(' ;', '=')) }}",
        "{{ 'é日👍\\x00\\x1f\\x7f\\n\\t\\r\\b\\f\"\\\\/</'|tojson }} {{ 'é日👍\\x7f'|tojson(ensure_ascii=true) }} {{ '<>&\\''|tojson }}", "{{ {1: 'a', none: 'b', true: 'c', 1.5: 'd'}|tojson }} {{ (1, 2)|tojson }} {{ [none, x is defined]|tojson }}", "{{ ('inf'|float)|tojson }} {{ ('nan'|float)|tojson }} {{ [-0.0, 0]|tojson }}", "{{ d|tojson|length }} {{ d|tojson|replace('\"', '') }} {{ (d|tojson)[1:-1] }} {{ d|tojson|safe + '<' }}",
        "{{ nested|tojson }} {{ tree|tojson(indent=2, sort_keys=true) }}", "{{ html|safe|tojson }} {{ d|tojson(true) }} {{ d|tojson(false, 2) }}", "{{ d.items()|list|tojson }} {{ d|dictsort(true)|tojson if false else '' }}",
    ],
    "tests": [
        "{{ n is defined }} {{ n is not defined }} {{ s is string }} {{ n is string }} {{ n is number }} {{ f is number }} {{ yes is number }} {{ n is integer }} {{ yes is integer }} {{ f is integer }} {{ f is float }} {{ n is float }}", "{{ yes is boolean }} {{ n is boolean }} {{ yes is true }} {{ 1 is true }} {{ no is false }} {{ 0 is false }} {{ null is none }} {{ no is none }}", "{{ d is mapping }} {{ list is mapping }} {{ list is sequence }} {{ s is sequence }} {{ d is sequence }} {{ n is sequence }} {{ range(3) is sequence }} {{ d.items() is sequence }} {{ d.keys() is iterable }}",
        "{{ list is iterable }} {{ s is iterable }} {{ d is iterable }} {{ n is iterable }} {{ null is iterable }}", "{{ 3 is odd }} {{ 3 is even }} {{ 6 is divisibleby 3 }} {{ 6 is divisibleby(4) }} {{ -3 is odd }} {{ 2.0 is even }}", "{{ 1 is in [1] }} {{ 'a' is in 'abc' }} {{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is gt(2) }} {{ 1 is le 1 }} {{ 1 is ge 2 }} {{ 1 is equalto 1.0 }} {{ 3 is greaterthan 2 }} {{ 3 is lessthan 2 }} {{ 1 is sameas 1 }} {{ none is sameas none }} {{ 1 is sameas true }}",
        "{{ 'abc' is lower }} {{ 'ABC' is upper }} {{ 'aBC' is upper }} {{ '12' is lower }} {{ 'é' is lower }} {{ '' is lower }}", "{{ range is callable }} {{ n is callable }} {{ s.upper is callable }} {{ html|safe is escaped }} {{ html is escaped }}", "{{ 'upper' is filter }} {{ 'nope' is filter }} {{ 'odd' is test }} {{ 'nope' is test }}", "{{ n is not none and n is number }} {{ not n is none }} {{ n is defined and n > 3 }} {{ n is defined or x.y }}", "{{ 'a' if n is odd else 'b' }} {{ n is odd ~ 'x' if false else 1 }}",
        "{{ d.a is string and d.b is not string }} {{ list is sequence and list is not string and list is not mapping }}", "{{ none is string }} {{ namespace() is mapping }} {{ namespace(a=1) is iterable }}", "{{ [] is defined }} {{ 3 is not even }} {{ 'x' is not in 'abc' }}",
    ],
    "methods of strings": [
        "{{ t.strip() }}|{{ t.lstrip() }}|{{ t.rstrip() }}|{{ 'xyaxy'.strip('yx') }}|{{ 'aXb'.lstrip('a') }}|{{ '\\n\\na\\n'.strip('\\n') }}|{{ 'éaé'.strip('é') }}", "{{ 'a,b,,c'.split(',') }} {{ ' a  b\\tc '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a b c'.split(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a--b--c'.split('--')[-1] }} {{ ' a  b  c '.split(maxsplit=1) }}", "{{ 'a,b,c'.rsplit(',', 1) }} {{ ' a  b c '.rsplit(none, 1) }} {{ 'a,b'.rsplit(',') }} {{ 'abab'.rsplit('ab', 1) }}",
        "{{ 'a\\nb\\r\\nc\\rd\\n'.splitlines() }} {{ 'a\\nb'.splitlines(true) }} {{ ''.splitlines() }} {{ 'a\\x0bb\\x1cc\\u2028d'.splitlines() }}", "{{ s.startswith('He') }} {{ s.startswith(('x', 'H')) }} {{ s.startswith('l', 2) }} {{ s.endswith('ld') }} {{ s.endswith('l', 0, -1) }} {{ s.startswith('') }} {{ ''.startswith('a') }} {{ s.startswith('H', 50) }}", "{{ s.find('l') }} {{ s.find('z') }} {{ s.rfind('l') }} {{ s.index('o') }} {{ s.rindex('o') }} {{ s.find('ö') }} {{ s.find('d') }} {{ s.find('l', 5) }} {{ s.find('l', 0, 3) }} {{ s.find('') }} {{ ''.find('', 1) }}",
        "{{ s.count('l') }} {{ 'aaaa'.count('aa') }} {{ 'abc'.count('') }} {{ s.count('l', 3) }}", "{{ s.replace('l', 'LL') }} {{ s.replace('l', '', 2) }} {{ 'aaa'.replace('a', 'b', -1) }} {{ 'abc'.replace('', '.') }} {{ ''.replace('', 'x') }} {{ ''.replace('', 'x', 0) }}|", "{{ s.upper() }} {{ s.lower() }} {{ 'hello wORLD it\\'s'.title() }} {{ 'hELLO'.capitalize() }} {{ 'aBc'.swapcase() }} {{ 'ß'.swapcase() }} {{ 'ǆ'.title() }}", "{{ ', '.join(['a', 'b']) }} {{ '-'.join('abc') }} {{ ''.join([]) }}| {{ '.'.join(d) }} {{ ','.join(words|map('upper')) }}",
        "{{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }} {{ 'a'.removeprefix('b') }} {{ 'abc'.removesuffix('') }}", "{{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('=') }} {{ 'abc'.rpartition('=') }}", "{{ 'ab'.ljust(5) }}|{{ 'ab'.rjust(5, '.') }}|{{ 'ab'.center(5, '*') }}|{{ 'abc'.center(6) }}|{{ '42'.zfill(5) }} {{ '-42'.zfill(5) }} {{ 'é'.ljust(3, 'ü') }}|", "{{ 'a\\tb\\n\\tc'.expandtabs() }} {{ 'a\\tb'.expandtabs(4) }}",
        "{{ 'abc'.isalpha() }} {{ 'ab1'.isalnum() }} {{ '12'.isdigit() }} {{ '²'.isdigit() }} {{ '½'.isnumeric() }} {{ '12'.isdecimal() }} {{ ' \\t'.isspace() }} {{ 'abc'.islower() }} {{ 'ABC'.isupper() }} {{ 'Ab Cd'.istitle() }} {{ 'a_1'.isidentifier() }} {{ 'é'.isascii() }} {{ ''.isalpha() }} {{ ''.isascii() }} {{ 'é日'.isalpha() }} {{ '\\n'.isprintable() }} {{ '1a'.isidentifier() }}",
        "{{ '{} {}'.format(1, 'a') }} {{ '{0}{1}{0}'.format('a', 'b') }} {{ '{x}-{y}'.format(x=1, y=none) }} {{ '{{}}'.format() }} {{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd') }} {{ '{:05d} {:+d} {:x} {:#x} {:b} {:,} {:.2f} {:e} {:%} {:8.3f}|'.format(42, 5, 255, 255, 5, 1234567, 3.14159, 12345.678, 0.25, 2.5) }}", "{{ '{!r} {!s}'.format('a', 'b') }} {{ '{.a} {[b]} {0[b]}'.format(d, d) if false else '{0.name} {0[age]}'.format(people[0]) }} {{ '{:.2}|{:5}|{:5}|'.format('abc', 7, true) }} {{ '{:>{}}'.format('a', 3) if false else '' }} {{ '{:g} {:.3g} {:G}'.format(0.0001, 1234.5, 1e-10) }} {{ '{}'.format(1.0) }} {{ '{:.1f}'.format(2) }} {{ '{:d}'.format(true) }}",
        "{{ s.upper().lower().split(',')[0].strip() }}", "{{ '<think>a</think>b'.split('</think>')[-1].lstrip('\\n') }} {{ '<think>a</think>b'.split('</think>')[0].split('<think>')[-1] }}", "{{ 'abc'.find('c', -1) }} {{ 'abc'.endswith('c', -2) }}",
    ],
    "functions": [
        "{{ range(3)|list }} {{ range(1, 4)|list }} {{ range(5, 0, -2)|list }} {{ range(0) }} {{ range(2, 5) }} {{ range(1, 9, 2) }} {{ range(3)|length }} {{ range(100000)|length }}", "{{ dict(a=1, b=2) }} {{ dict({'a': 1}, b=2) }} {{ dict([('x', 1)]) }} {{ dict() }}", "{{ strftime_now('%Y-%m-%d %H:%M:%S %d %B %b %A %a %j %y %I %p %% %e %-d %f|%z|%Z|') }}", "{{ strftime_now('%d %b %Y') }} {{ strftime_now('') }}|{{ strftime_now('ü%Q') if false else '' }}", "{{ namespace(a=1).a }}", "{{ range(0, 10, 3)[-1] }} {{ 3 in range(0, 10, 3) }} {{ range(3) == range(3) }}",
        "{{ range is defined }} {{ raise_exception is defined }} {{ range(n)[::2]|list }}",
    ],
    "printing": [
        "{{ [1, 2.0, 'a', none, true, {'k': [x is defined]}, (1,)] }}", "{{ [s, t, html] }}", "{{ d }}", "{{ people[0] }}", "{{ 1e100 }} {{ 1.0e-10 }} {{ 123456789.123456789 }} {{ 5e-324 }} {{ 1.7976931348623157e308 }} {{ 0.1 }} {{ 100.0 }} {{ 1e15 }} {{ 1e17 }}", "{{ ['\\'', '\"', '\\'\"', '\\\\', 'é', '\\x85', '\\u2028', '👍', '\\U000e0001'] }}", "{{ [x] }} {{ {'a': x} }}", "{{ ('a', ['b', ('c',)]) }}",
    ],
}


def main():
    env = chat_environment.environment()
    rows = []
    for theme, templates in THEMES.items():
        lines = []
        for text in templates:
            try:
                template = env.from_string(text)
            except Exception as error:
                result = {"invalid": f"{type(error).__name__}: {error}"}
            else:
                result = chat_environment.render(template, VARIABLES)
            lines.append(json.dumps({"template": text} | result))
        rows.append(f"{json.dumps(theme)}:[\n" + ",\n".join(lines) + "\n]")
    head = {"made_by": "tests/text/oracle/make_template_goldens.py",
            "versions": {"python": platform.python_version(), "jinja2": version("jinja2")},
            "now": int(chat_environment.NOW.timestamp()), "variables": VARIABLES}
    print("{" + ",\n".join(f"{json.dumps(k)}:{json.dumps(v)}" for k, v in head.items()) +
          ',\n"themes":{\n' + ",\n".join(rows) + "\n}}")


if __name__ == "__main__":
    main()
