"""Where a benchmark's results go."""
import json
import pathlib


def emit(results, path):
    """As JSON to standard output, and to a file where one is named."""
    text = json.dumps(results, indent=1)
    print(text)
    if path:
        pathlib.Path(path).write_text(text + "\n")
