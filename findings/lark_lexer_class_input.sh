#!/usr/bin/env bash
# lark 1.3.0: a custom lexer class gets text or bytes alone. Before and after, `Lark.parse` hands any object to the
# lexer, as "Using Lark with a custom lexer" in Lark's documentation shows with a list of words.
#
# Seen: 1.2.2 and 1.3.1 parse ["a", "b"]; 1.3.0 raises TypeError("text must be str or bytes").
# texpr hands tokens with their source to its lexer, and leaves 1.3.0 out (pyproject.toml).
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
cat > "$folder/words.py" <<'PYTHON'
from lark import Lark
from lark.lexer import Lexer, Token


class Words(Lexer):
    def __init__(self, conf):
        pass

    def lex(self, words):
        for word in words:
            yield Token("WORD", word)


try:
    print(len(Lark("start: WORD+\n%declare WORD", parser="lalr", lexer=Words).parse(["a", "b"]).children))
except TypeError as error:
    print(error)
PYTHON
failed=0
for row in "1.2.2=2" "1.3.0=text must be str or bytes" "1.3.1=2"; do
    "$folder/env/bin/pip" install --quiet "lark==${row%%=*}"
    seen=$("$folder/env/bin/python" "$folder/words.py")
    echo "lark ${row%%=*}: $seen"
    [ "$seen" = "${row#*=}" ] || failed=1
done
exit $failed
