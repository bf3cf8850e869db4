"""The few characters on which the Rust library differs from Google's rules, rewritten before the library sees them.

Text comes in, text that the library treats as the rules ask goes out, and for each of its characters the place that it
came from. The library's tables of categories are about those of Unicode 8; the rules are read with Unicode 14.0. The
library takes away private-use characters, which the rules keep; it leaves out the first 256 ideographs of extension E;
and it lower-cases Σ without looking at its neighbours. transformers, which uses it as it is, differs on all of these.

One difference remains: a private-use character, U+166D, U+1734 or U+111C9 makes its word unknown even if a vocabulary
has a piece with it.
"""

import re
import unicodedata

FORMAT = "890-891 8e2 110cd 13430-13438"
PUNCTUATION = (
    "61d 9fd a76 c77 c84 1b7d-1b7e 2e43-2e4f 2e52-2e5d 10ead 10f55-10f59 10f86-10f89 1144b-1144f 1145a-1145b 1145d "
    "11660-1166c 116b9 1183b 11944-11946 119e2 11a3f-11a46 11a9a-11a9c 11a9e-11aa2 11c41-11c45 11c70-11c71 "
    "11ef7-11ef8 11fff 12ff1-12ff2 16e97-16e9a 16fe2 1e95e-1e95f"
)
IDEOGRAPHS = "2b820-2b91f"
PRIVATE_AND_CHANGED = "e000-f8ff f0000-ffffd 100000-10fffd 166d"  # U+166D was punctuation once
NON_SPACING_MARKS = (
    "7fd 898-89f 8ca-8e1 9fe afa-aff b55 c04 c3c d00 d3b-d3c d81 eba 180f 1885-1886 1abf-1ace 1df6-1dfb a82c a8c5 a8ff "
    "a9bd 10d24-10d27 10eab-10eac 10f46-10f50 10f82-10f85 11070 11073-11074 110c2 111c9 111cf 1123e 1133b 11438-1143f "
    "11442-11444 11446 1145e 1182f-11837 11839-1183a 1193b-1193c 1193e 11943 119d4-119d7 119da-119db 119e0 11a01-11a0a "
    "11a33-11a38 11a3b-11a3e 11a47 11a51-11a56 11a59-11a5b 11a8a-11a96 11a98-11a99 11c30-11c36 11c38-11c3d 11c3f "
    "11c92-11ca7 11caa-11cb0 11cb2-11cb3 11cb5-11cb6 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47 11d90-11d91 11d95 "
    "11d97 11ef3-11ef4 16f4f 16fe4 1cf00-1cf2d 1cf30-1cf46 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a "
    "1e130-1e136 1e2ae 1e2ec-1e2ef 1e944-1e94a"
)
STAND_IN = "\U0010fffe"  # a code point that is no character, so that no vocabulary has it and the library keeps it


class Rewriting:
    """What a tokenizer's settings make necessary.

    >>> uncased = Rewriting(cased=False, strip_accents=True, split_chinese=True)
    >>> uncased.rewrite("ΟΔΟΣ"), uncased.rewrite("a\\u2e4fb")
    ('ΟΔΟς', 'a \\u2e4f b')
    >>> uncased.origins("a\\u2e4fb")
    [0, 1, 1, 1, 2]
    """

    def __init__(self, *, cased: bool, strip_accents: bool, split_chinese: bool) -> None:
        removed = f"{FORMAT} {NON_SPACING_MARKS}" if strip_accents else FORMAT
        apart = f"{PUNCTUATION} {IDEOGRAPHS}" if split_chinese else PUNCTUATION
        kept = PRIVATE_AND_CHANGED + (" 1734" if strip_accents else " 111c9")
        self._sigma = not cased
        self._pattern = re.compile(
            f"(?P<removed>{_class(removed)})|(?P<apart>{_class(apart)})|(?P<kept>{_class(kept)})"
            + ("|(?P<decomposed>\U00011938)" if strip_accents else "")
        )
        # Two steps, since Python tries the ranges above U+FFFF one by one for every character.
        everywhere = f"{removed} {apart} {kept}".split()
        self._suspect = re.compile(
            _class(" ".join(r for r in everywhere if len(r.split("-")[0]) < 5) + " 10000-10ffff")
        )

    def rewrite(self, text: str) -> str:
        """The text as the library should see it; nearly always the text itself."""
        if text.isascii():
            return text
        if self._sigma and "Σ" in text:
            text = _lower_sigmas(text)
        return self._pattern.sub(_replacement, text) if self._suspect.search(text) else text

    def origins(self, text: str) -> list[int] | None:
        """For each character of the rewritten text its place in the original; None where places are the same."""
        if text.isascii() or not (self._suspect.search(text) and self._pattern.search(text)):
            return None
        lengths = [len(self._pattern.sub(_replacement, character)) for character in text]
        return [place for place, length in enumerate(lengths) for _ in range(length)]


def _class(ranges: str) -> str:
    """A regular expression's character class from hexadecimal ranges.

    >>> _class("61-63 7a")
    '[a-cz]'
    """
    return "[" + re.sub("[0-9a-f]+", lambda match: chr(int(match[0], 16)), ranges).replace(" ", "") + "]"


def _replacement(match: re.Match[str]) -> str:
    replacements = {"removed": "", "apart": f" {match[0]} ", "kept": STAND_IN, "decomposed": "\U00011935\U00011930"}
    return replacements[match.lastgroup or ""]


def _lower_sigmas(text: str) -> str:
    """Σ as ς at the end of a word and as σ elsewhere, where words are those of the cleaned text.

    >>> _lower_sigmas("ΣΟΦΟΣ ΑΣ\\x00Α")
    'σΟΦΟς Ασ\\x00Α'
    """
    cleaned = [character for character in text if not _is_removed(character)]
    lowered = "".join(cleaned).replace("İ", "I").lower()  # İ alone becomes two characters
    sigmas = iter(small for character, small in zip(cleaned, lowered, strict=True) if character == "Σ")
    return re.sub("Σ", lambda _: next(sigmas), text)


def _is_removed(character: str) -> bool:
    return character == "\ufffd" or (character not in "\t\n\r" and unicodedata.category(character) in ("Cc", "Cf"))
