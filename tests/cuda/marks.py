"""Pages of docs/ in which programs write what they found, each between marks of its own."""
END = "<!-- end -->"


def put(page, mark, text):
    """`text` between `mark` and the END behind it, whatever was there."""
    before, rest = page.read_text().split(mark)
    page.write_text(before + mark + "\n" + text + "\n" + END + rest.split(END, 1)[1])
