#!/usr/bin/env python3
"""Runs a client script as it is, and writes the bodies of its requests, in the order in which they were sent.

    recording.py FILE.json SCRIPT [ARGS]        (SCRIPT sends them with aiohttp's ClientSession.post(url, json=..))
"""
import json
import pathlib
import runpy
import sys

import aiohttp

sent = []
post = aiohttp.ClientSession.post


def recorded(session, url, **arguments):
    sent.append(json.dumps(arguments["json"]))  # as it is now: the script may go on with its lists
    return post(session, url, **arguments)


file, script = sys.argv[1:3]
sys.argv = sys.argv[2:]
aiohttp.ClientSession.post = recorded
runpy.run_path(script, run_name="__main__")
pathlib.Path(file).write_text("[" + ",".join(sent) + "]")
