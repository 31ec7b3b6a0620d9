"""Text as HTML with its words coloured: operators, loop nests, LLVM IR and assembly."""

from __future__ import annotations

import html
import re

_WORDS = {
    "texpr": r"kernel|op|fn|extern|let|for|in|if|then|else|where|require|sum|prod|max|min|argmax|argmin|any|all|and|or|not",
    "llvm": r"define|declare|fastcc|private|internal|ret|br|switch|label|phi|load|store|getelementptr|call|tail|select|icmp|fcmp|"
            r"fadd|fsub|fmul|fdiv|fneg|add|sub|mul|sdiv|srem|shl|lshr|ashr|and|or|xor|zext|sext|trunc|sitofp|fptosi|bitcast|"
            r"shufflevector|insertelement|extractelement|contract|nsw|nuw|align|noalias|readonly|unreachable|to",
    "asm": r"[a-z][a-z0-9.]*(?=\s)",
}
_PATTERNS = {
    language: re.compile(rf"(?P<comment>(?:{comment})[^\n]*)|(?P<number>\b\d[\w.]*)|(?P<word>{anchor}\b(?:{_WORDS[language]})\b)", re.M)
    for language, comment, anchor in (("texpr", "#", ""), ("llvm", ";", ""), ("asm", r"#|//", r"(?<=\t)"))
}


def coloured(text: str, language: str) -> str:
    """`text` escaped, with comments, numbers and words of the language (`texpr`, `llvm`, `asm`) in spans of those classes."""
    made: list[str] = []
    done = 0
    for found in _PATTERNS[language].finditer(text):
        made += [html.escape(text[done : found.start()]), f'<span class="{found.lastgroup}">{html.escape(found.group())}</span>']
        done = found.end()
    return "".join(made) + html.escape(text[done:])
