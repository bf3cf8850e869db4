"""Everything that a chat could say, and when it was said: exchanges in, the replies that may fit a conversation out.

A reply may fit because its vector is near that of the conversation, or because it was given in a situation like this
one: after a turn that shares its words, or lies near it. How well a situation is known is told from 0 to 1.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmask.apps.turns import context_text, language_of
from unmask.apps.vectors import Report, TextVectors
from unmask.data.dialogues import Exchange
from unmask.data.json_lines import read_json_lines
from unmask.decode.words import Floats
from unmask.errors import InputError
from unmask.retrieve.lexical import Lexical, terms
from unmask.retrieve.nearest import Nearest

EXCHANGES, RESPONSE_VECTORS, SITUATION_VECTORS = "exchanges.jsonl", "responses.npy", "situations.npy"
KEPT_TURNS = 2  # of a context: what was said last, and before it
EARLIER = 5.0  # how much the turn before the last counts, in rarities of words: about one telling word
UNTAUGHT = 0.5  # what the vectors of an encoder count for that was not taught to embed
UNRELATED = 0.99  # the share of pairs of situations that are no more alike than unrelated ones are


@dataclass(frozen=True)
class Possible:
    """A reply that may fit."""

    response: str
    cosine: float  # of conversation and reply
    known: float  # how like this one the situation is in which it was given; 0: not at all, 1: the same


class ResponseBase:
    """Exchanges, and the vectors by which they are found.

    >>> import tempfile
    >>> from unmask.model.about import About
    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.folder import save_model
    >>> from unmask.text.tokenizer import Tokenizer
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> config = BertConfig.named("tiny", vocabulary_size=7)
    >>> folder = Path(tempfile.mkdtemp()) / "encoder"
    >>> save_model(folder, config, Bert(config), Tokenizer([*SPECIAL_PIECES, "tea", "cold"]), About())
    >>> talk = [Exchange(("Tea?",), "With milk, please."), Exchange(("Cold today!",), "It will snow.")]
    >>> base = ResponseBase.of(talk, TextVectors(folder))
    >>> max(base.possible(["Some tea?"], 5), key=lambda found: found.known).response
    'With milk, please.'
    """

    def __init__(
        self, exchanges: Sequence[Exchange], vectors: TextVectors, responses: Floats, situations: Floats
    ) -> None:
        self.exchanges, self.vectors = exchanges, vectors
        self.responses = list(dict.fromkeys(exchange.response for exchange in exchanges))
        places = {response: place for place, response in enumerate(self.responses)}
        self.response_of = np.array([places[exchange.response] for exchange in exchanges], np.int64)
        languages = dict.fromkeys(places, "en")
        for exchange in exchanges:  # a reply such as "1998" has the language of what it answers
            if language_of(f"{exchange.context[-1]} {exchange.response}") == "zh":
                languages[exchange.response] = "zh"
        self.languages = np.array(list(languages.values()))
        self.near_responses, self.near_situations = Nearest(responses), Nearest(situations)
        self.unrelated = _unrelated(situations)
        self.last_turns = Lexical.of(exchange.context[-1] for exchange in exchanges)

    @classmethod
    def of(
        cls, exchanges: Sequence[Exchange], vectors: TextVectors, report: Report = lambda *_: None
    ) -> "ResponseBase":
        """The base of exchanges, each kept once."""
        nothing = np.empty((0, vectors.width), np.float32)
        return cls([], vectors, nothing, nothing).with_more(exchanges, report)

    def with_more(self, exchanges: Sequence[Exchange], report: Report = lambda *_: None) -> "ResponseBase":
        """A base that has these exchanges too; only what is new gets its vectors now."""
        latest = dict.fromkeys(Exchange(one.context[-KEPT_TURNS:], one.response) for one in exchanges)
        known, said = set(self.exchanges), set(self.responses)
        new = [exchange for exchange in latest if exchange not in known]
        texts = list(dict.fromkeys(exchange.response for exchange in new if exchange.response not in said))
        found = self.vectors([*texts, *(exchange.context[-1] for exchange in new)], report=report)
        return ResponseBase(
            [*self.exchanges, *new],
            self.vectors,
            np.concatenate([self.near_responses.vectors, found[: len(texts)]]),
            np.concatenate([self.near_situations.vectors, found[len(texts) :]]),
        )

    def save(self, folder: Path) -> None:
        """Writes the base; the model that gave the vectors is not part of it."""
        rows = ({"context": exchange.context, "response": exchange.response} for exchange in self.exchanges)
        with (folder / EXCHANGES).open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        np.save(folder / RESPONSE_VECTORS, self.near_responses.vectors)
        np.save(folder / SITUATION_VECTORS, self.near_situations.vectors)

    @classmethod
    def load(cls, folder: Path, vectors: TextVectors) -> "ResponseBase":
        """Opens what `save` wrote."""
        rows = [row for _, row in read_json_lines(folder / EXCHANGES)]
        try:
            exchanges = [Exchange(tuple(map(str, row["context"])), str(row["response"])) for row in rows]
            responses, situations = (np.load(folder / name) for name in (RESPONSE_VECTORS, SITUATION_VECTORS))
            counts = len({exchange.response for exchange in exchanges}), len(exchanges)
            assert (len(responses), len(situations)) == counts, "a vector for each"
            assert responses.shape[1] == situations.shape[1] == vectors.width, "vectors of this model"
        except (KeyError, TypeError, OSError, ValueError, EOFError, AssertionError) as error:
            raise InputError(f"{folder}, a damaged chat folder ({error})", do="train it again") from error
        return cls(exchanges, vectors, responses, situations)

    def possible(self, turns: Sequence[str], top: int) -> list[Possible]:
        """Replies that may fit a conversation, in its language if there are any: some by each way of finding them."""
        whole, latest = self.vectors([context_text(turns), turns[-1]])  # (D,) each
        cosines = self.near_responses.vectors @ whole  # (R,)
        known = self._known(turns, latest, top)
        language = language_of(turns[-1])
        if language in self.languages:
            cosines = np.where(self.languages == language, cosines, -np.inf)
        nearest = np.argsort(-cosines, kind="stable")[:top].tolist()
        found = dict.fromkeys([*known, *nearest])
        return [
            Possible(self.responses[place], float(cosines[place]), known.get(place, 0.0))
            for place in found
            if np.isfinite(cosines[place])
        ]

    def _known(self, turns: Sequence[str], vector: Floats, top: int) -> dict[int, float]:
        """The replies given in situations like this one, and how like it they are."""
        places, cosines = self.near_situations.best(vector[None], top)
        # an encoder that was not taught to embed takes all short texts for alike: it may only second the words
        trusted = 1.0 if self.vectors.taught else UNTAUGHT
        near = dict(zip(places[0].tolist(), (trusted * _beyond(cosines[0], self.unrelated)).tolist(), strict=True))
        found: dict[int, float] = {}
        for place in {**near, **dict(self.last_turns.best(turns[-1], top))}:
            response = int(self.response_of[place])
            likeness = self._likeness(turns, self.exchanges[place].context, near.get(place, 0.0))
            found[response] = max(found.get(response, 0.0), likeness)
        return found

    def _likeness(self, turns: Sequence[str], context: Sequence[str], near: float) -> float:
        """How like two situations are: by the words of the last turns in common, or by their vectors.

        The less the last turn says, the more the one before it counts; but alone it makes no situation known.
        """
        shared, telling = self._shared(turns[-1], context[-1])
        likeness = max(shared, near)
        if len(turns) == 1:
            return likeness
        before, _ = self._shared(turns[-2], context[-2] if len(context) > 1 else "")
        return (telling * likeness + EARLIER * min(before, likeness)) / (telling + EARLIER)

    def _shared(self, first: str, second: str) -> tuple[float, float]:
        """The share of two texts' words that both have, and how telling the first is: rare words count more."""
        ours, theirs = set(terms(first)), set(terms(second))
        telling = sum(map(self._rarity, ours))
        return sum(map(self._rarity, ours & theirs)) / (sum(map(self._rarity, ours | theirs)) or 1.0), telling

    def _rarity(self, term: str) -> float:
        row = self.last_turns.vocabulary.get(term)
        holding = 0 if row is None else int(self.last_turns.begins[row + 1] - self.last_turns.begins[row])
        return float(np.log1p((self.last_turns.count - holding + 0.5) / (holding + 0.5)))


def _unrelated(situations: Floats, most: int = 512) -> float:
    """The cosine that unrelated situations may have: vectors of an untaught encoder all point much the same way."""
    some = situations[:: max(1, len(situations) // most)][:most]
    if len(some) < 2:
        return 0.0
    pairs = (some @ some.T)[np.triu_indices(len(some), 1)]
    return float(np.quantile(pairs, UNRELATED))


def _beyond(cosines: Floats, unrelated: float) -> Floats:
    """How far cosines go beyond those of unrelated texts, from 0 to 1.

    >>> _beyond(np.array([0.2, 0.5, 0.75, 1.0]), 0.5).tolist()
    [0.0, 0.0, 0.5, 1.0]
    """
    found: Floats = np.clip((cosines - unrelated) / max(1 - unrelated, 1e-6), 0, 1)
    return found
