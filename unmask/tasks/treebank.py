"""English text -> words as the Penn Treebank divides it, the division that CMRC 2018's scorer takes from NLTK.

In: a text. Out: its words, with punctuation, quotes and clitics apart: `didn't` is `did n't`, `(ann's` is `( ann 's`.
A sentence ends at a full stop before a space, save after an initial, a number or a usual abbreviation; NLTK learns
these from newspapers, so rare ones may differ.
"""

import re

ABBREVIATION = re.compile(
    "adm|ave|bros|capt|co|col|corp|dr|ft|gen|inc|jr|lt|ltd|maj|messrs|mg|mr|mrs|ms|prof|rep|reps|sen|sr|st|vs"
    "|jan|feb|aug|sep|sept|oct|nov|dec|tues|wed|fri"
    r"|a\.d|a\.m|d\.c|l\.a|m\.b\.a|n\.j|n\.y|p\.m|ph\.d|s\.a|u\.k|u\.n|u\.s|u\.s\.a|u\.s\.s\.r"
)
LAST_WORD = re.compile(r"[\w.]+$")
SENTENCE_END = re.compile(r"(?<=[^\s.])\.(?:[\])}>\"'»”’]*(?=\s+\S)|(?=[)\";}\]'({\[!?]\S))")

# The order matters: what one rule sets apart, the next sees as standing alone.
RULES = [
    (re.compile(rule), replacement)
    for rule, replacement in (
        # opening quotes
        (r"([«“‘„]|`+)", r" \1 "),
        (r"^\"", "``"),
        (r"``", " `` "),
        (r"([ (\[{<])(?:\"|'')", r"\1 `` "),
        (r"(?i)(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", "' "),
        # the last full stop, and marks that are never part of a word
        (r"([^.])\.([\])}>\"'»”’ ]*)\s*$", r"\1 . \2 "),
        (r"([:,])(\D)", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"(\.{2,})", r" \1 "),
        (r"([;@#$%&\u2012-\u2015?!*])", r" \1 "),
        (r"([^'])' ", r"\1 ' "),
        (r"([\]\[(){}<>]|--)", r" \1 "),
        # closing quotes and clitics; they look for the space after a word, so every text gets one at its end
        (r"^(.*)$", r" \1 "),
        (r"([»”’])", r" \1 "),
        (r"''|\"", " '' "),
        (r"\s+", " "),
        (r"([^' ])('[sSmMdD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        # words that are two
        (r"(?i)\b(can)(not)\b", r" \1 \2 "),
        (r"(?i)\b(d)('ye)\b", r" \1 \2 "),
        (r"(?i)\b(gim|lem)(me)\b", r" \1 \2 "),
        (r"(?i)\b(gon)(na)\b", r" \1 \2 "),
        (r"(?i)\b(got)(ta)\b", r" \1 \2 "),
        (r"(?i)\b(more)('n)\b", r" \1 \2 "),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
    )
]


def treebank_words(text: str) -> list[str]:
    """The words of a text.

    >>> treebank_words('He said: "I can\\'t, Dr. Lee." It cost $3.50.')
    ['He', 'said', ':', '``', 'I', 'ca', "n't", ',', 'Dr.', 'Lee', '.', "''", 'It', 'cost', '$', '3.50', '.']
    """
    return [word for sentence in _sentences(text) for word in _words(sentence)]


def _sentences(text: str) -> list[str]:
    """The text cut after full stops that end a sentence; other marks need no cut to stand alone.

    >>> _sentences("j. lee left. he was 40")
    ['j. lee left.', 'he was 40']
    """
    ends = [match.end() for match in SENTENCE_END.finditer(text) if not _is_of_the_word(match.start(), text)]
    first, *others = (text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True))
    return [first, *(sentence.lstrip() for sentence in others)]


def _is_of_the_word(stop: int, text: str) -> bool:
    """Does a full stop belong to the word before it: an initial, a number in a list, an abbreviation?

    >>> [_is_of_the_word(text.index("."), text) for text in ("j. lee", "2. the lot", "st. ann", "2. 5 of us", "so. he")]
    [True, True, True, False, False]
    """
    found = LAST_WORD.search(text[:stop])
    word = found[0].lower() if found else ""
    if word.isdigit():
        after = text[stop + 1 :]
        return after[:1].isspace() and after.lstrip()[:1].isalpha()
    return (len(word) == 1 and word.isalpha()) or ABBREVIATION.fullmatch(word) is not None


def _words(sentence: str) -> list[str]:
    for rule, replacement in RULES:
        sentence = rule.sub(replacement, sentence)
    return sentence.split()
