"""jinja2 as the transformers library sets it up for chat templates (utils/chat_template_utils.py)."""

import datetime
import json

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2024, 7, 26, 9, 5, 3, tzinfo=datetime.timezone.utc)


class Generation(jinja2.ext.Extension):
    """{% generation %} marks what the assistant wrote, for training; it changes no text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_support"), [], [], body).set_lineno(line)

    def _support(self, caller):
        return caller()


class Raised(jinja2.TemplateError):
    """By raise_exception."""


def raise_exception(message):
    raise Raised(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[Generation, jinja2.ext.loopcontrols, jinja2.ext.do])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: NOW.replace(tzinfo=None).strftime(form)
    for name in ("lipsum", "cycler", "joiner"):  # not supported, so not there
        del env.globals[name]
    return env


def render(template, variables):
    """{"text": ...}, {"raised": its message}, or {"failed": why}."""
    try:
        return {"text": template.render(**variables)}
    except Raised as error:
        return {"raised": str(error)}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
