"""Learning a WordPiece vocabulary: text comes in, pieces go out, the same on every run, machine and order of files.

Two steps. Pieces are first joined from characters, always the most frequent adjacent pair (byte-pair encoding, Sennrich
et al. 2016), until there are more than asked for. Then those are dropped whose absence costs fewest pieces when words
are encoded as BERT does it, longest piece first: what joining leaves behind on its way to long words is seldom used
that way. Characters compete with the rest, where an unknown word costs as much as the longest word.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from unmask.errors import InputError
from unmask.text.characters import STAND_IN
from unmask.text.coverage import LONGEST_WORD, spell, word_encoder
from unmask.text.vocabulary import SPECIAL_PIECES
from unmask.text.words import count_words

JOINED_PER_KEPT = 1.4  # pieces joined for each one asked for; more gained nothing on other text (see the record)
UNKNOWN_COST = LONGEST_WORD  # pieces that a word is worth which becomes unknown

Pair = tuple[str, str]


def learn_vocabulary(
    texts: Iterable[str],
    *,
    size: int,
    cased: bool = False,
    unused: int = 0,
    chinese_words: bool = False,
    minimum_count: int = 2,
) -> list[str]:
    """Learns a vocabulary of at most `size` pieces from blocks of text that end at blanks.

    >>> learn_vocabulary(["low lower lowest, slow slower"], size=22)[-2:]
    ['##ow', '##ower']
    """
    return learn_pieces(
        count_words(texts, cased=cased, split_chinese=not chinese_words),
        size=size,
        unused=unused,
        minimum_count=minimum_count,
    )


def learn_pieces(words: Mapping[str, int], *, size: int, unused: int = 0, minimum_count: int = 2) -> list[str]:
    """The vocabulary of counted words: special pieces, characters, then longer pieces, the most used first.

    Joined pieces occur at least `minimum_count` times; a text that has fewer than asked for gives fewer. A character is
    left out, and its words become unknown, where a joined piece saves more than a hundred times its occurrences.
    """
    special = special_pieces(unused)
    room = size - len(special)
    if room < 1:
        raise InputError(f"a vocabulary of {size} pieces", wanted=f"more than the {len(special)} special ones")
    words = {word: words[word] for word in sorted(words) if len(word) <= LONGEST_WORD and STAND_IN not in word}
    if not words:
        raise InputError("text without words", wanted="text to learn a vocabulary from")
    characters = count_characters(words)
    joined = join_pieces(words, most=int(JOINED_PER_KEPT * room), minimum_count=minimum_count)
    return special + keep_most_useful(words, characters, joined, room)


def special_pieces(unused: int) -> list[str]:
    """[PAD] has id 0, as in every published BERT; with 99 unused slots the others have their published ids too.

    >>> special_pieces(2)
    ['[PAD]', '[unused0]', '[unused1]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
    """
    first, *others = SPECIAL_PIECES
    return [first, *(f"[unused{number}]" for number in range(unused)), *others]


def count_characters(words: Mapping[str, int]) -> Counter[str]:
    """How often each character occurs: `##c` inside words, and plain anywhere, for in other text it may begin a word.

    >>> sorted(count_characters({"aba": 2}).items())
    [('##a', 2), ('##b', 2), ('a', 4), ('b', 2)]
    """
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
        for character in word[1:]:
            counts["##" + character] += count
    return counts


def join_pieces(words: Mapping[str, int], *, most: int, minimum_count: int) -> list[str]:
    """Up to `most` pieces of several characters, each joined from the most frequent pair of the pieces so far.

    >>> join_pieces({"low": 5, "lowest": 2, "slow": 4}, most=3, minimum_count=2)
    ['##ow', 'low', '##low']
    """
    pairs = _Pairs(words)
    joined: dict[str, None] = {}
    while len(joined) < most and (pair := pairs.most_frequent(minimum_count)):
        joined[pairs.join(pair)] = None  # two pairs can make the same piece
    return list(joined)


class _Pairs:
    """Words cut into pieces, and the counts of adjacent pairs, kept right while pairs are joined."""

    def __init__(self, words: Mapping[str, int]) -> None:
        several = [word for word in words if len(word) > 1]
        names: dict[str, str] = {}  # one object for each character, so that comparing them is comparing addresses
        self.words = [[names.setdefault(piece, piece) for piece in spell(word)] for word in several]
        self.word_counts = [words[word] for word in several]
        self.counts: defaultdict[Pair, int] = defaultdict(int)
        self.places: defaultdict[Pair, list[int]] = defaultdict(list)  # words that have, or had, the pair
        for place, pieces in enumerate(self.words):
            for pair in pairwise(pieces):
                self.counts[pair] += self.word_counts[place]
                self.places[pair].append(place)
        # The pair follows its count, so that equal counts are taken in the order of the pieces' characters.
        self.queue = [(-count, pair) for pair, count in self.counts.items()]
        heapq.heapify(self.queue)

    def most_frequent(self, minimum_count: int) -> Pair | None:
        """The pair to join next, or none that occurs often enough."""
        while self.queue:
            negative, pair = heapq.heappop(self.queue)
            count = self.counts.get(pair, 0)
            if count < minimum_count:
                continue
            if count == -negative:
                return pair
            heapq.heappush(self.queue, (-count, pair))  # it has lost occurrences since it was queued
        return None

    def join(self, pair: Pair) -> str:
        """Joins a pair wherever it occurs and returns the new piece."""
        joined = pair[0] + pair[1].removeprefix("##")
        gained: defaultdict[Pair, int] = defaultdict(int)
        for place in self.places.pop(pair):
            self._join_in_word(place, pair, joined, gained)
        del self.counts[pair]
        for new, count in gained.items():
            self.counts[new] += count
            heapq.heappush(self.queue, (-self.counts[new], new))
        return joined

    def _join_in_word(self, place: int, pair: Pair, joined: str, gained: defaultdict[Pair, int]) -> None:
        pieces, count = self.words[place], self.word_counts[place]
        first, second = pair
        position = 0
        while first in pieces[position:-1]:
            position = pieces.index(first, position)
            if pieces[position + 1] != second:
                position += 1
                continue
            if position > 0:
                before = pieces[position - 1]
                self.counts[before, first] -= count
                gained[before, joined] += count
                self.places[before, joined].append(place)
            if position + 2 < len(pieces):
                after = pieces[position + 2]
                self.counts[second, after] -= count
                gained[joined, after] += count
                self.places[joined, after].append(place)
            pieces[position : position + 2] = [joined]
            position += 1


def keep_most_useful(
    words: Mapping[str, int], characters: Mapping[str, int], joined: Sequence[str], room: int
) -> list[str]:
    """Drops the pieces whose absence costs least, until `room` are left; the costs of the rest are counted anew often.

    >>> words = {"low": 5, "lowest": 2, "slow": 4}
    >>> keep_most_useful(words, count_characters(words), ["##ow", "low", "##low"], room=14)[-2:]
    ['low', '##low']
    """
    pieces = {*characters, *joined}
    while True:
        uses = _count_uses(pieces, words)
        excess = len(pieces) - room
        if excess <= 0:
            break
        costs = {piece: _cost_of_absence(piece, pieces, uses, characters) for piece in pieces}
        dropped = excess if excess <= room // 100 else (excess + 1) // 2
        pieces.difference_update(sorted(pieces, key=lambda piece: (costs[piece], piece))[:dropped])
    longer = sorted(pieces.difference(characters), key=lambda piece: (-uses[piece], piece))
    return sorted(pieces.intersection(characters), key=lambda piece: (len(piece), piece)) + longer


def _count_uses(pieces: Collection[str], words: Mapping[str, int]) -> Counter[str]:
    encode = word_encoder(pieces)
    uses: Counter[str] = Counter()
    for word, count in words.items():
        for piece in encode(word):
            uses[piece] += count
    return uses


def _cost_of_absence(
    piece: str, pieces: Collection[str], uses: Mapping[str, int], characters: Mapping[str, int]
) -> int:
    """How many pieces longer the text would be without a piece; a character's words would be unknown."""
    if piece in characters:
        return characters[piece] * UNKNOWN_COST
    return uses[piece] * (_length_without(piece, pieces) - 1)


def _length_without(piece: str, pieces: Collection[str]) -> int:
    """How many other pieces it takes to spell a piece.

    >>> _length_without("##able", {"##able", "##ab", "##l", "##le"})
    2
    """
    start = "##" if piece.startswith("##") else ""
    rest = piece.removeprefix(start)
    longest, length = len(rest) - 1, 0
    while rest:
        end = next((end for end in range(longest, 0, -1) if start + rest[:end] in pieces), 0)
        if end == 0:
            return 1 + UNKNOWN_COST
        rest, start = rest[end:], "##"
        longest, length = len(rest), length + 1
    return length
