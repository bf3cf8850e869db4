"""How well replies are chosen: held-out dialogues in, R10@1, R10@2 and MRR out.

A pool is a context and ten replies to it: what was really said, and nine that were said in other dialogues, drawn with
a seed. Whoever scores replies is measured by the rank of the real one; of equal scores every order is as likely, so a
scorer that knows nothing has R10@1 of exactly 0.1.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unmask.apps.predict import Predictor
from unmask.apps.turns import context_text
from unmask.apps.vectors import TextVectors
from unmask.data.chance import generator
from unmask.data.dialogues import Dialogue, exchanges
from unmask.data.examples import ChoiceExample
from unmask.data.splitting import first_share
from unmask.decode.words import Floats
from unmask.errors import InputError
from unmask.retrieve.lexical import Lexical
from unmask.tasks.resampling import interval
from unmask.tasks.several_texts import outputs_of_texts

POOL = 10  # replies: one that was said here, the others elsewhere
TRIES = 20  # draws until other replies than the real one are found


@dataclass(frozen=True)
class Pool:
    """A context and replies to it; the first is the real one."""

    context: tuple[str, ...]
    replies: tuple[str, ...]


@dataclass(frozen=True)
class Ranked:
    """How high the real replies stand, with 95 % intervals over the pools."""

    r10_at_1: float
    r10_at_2: float
    mrr: float
    pools: int
    r10_at_1_interval: tuple[float, float]
    mrr_interval: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return {name: _rounded(value) for name, value in asdict(self).items()}


def make_pools(dialogues: Sequence[Dialogue], *, most: int | None = None, seed: int = 0) -> list[Pool]:
    """The pools of held-out dialogues, at most so many of them; fewer replies in each where too little was said.

    >>> pool = make_pools([Dialogue(("Tea?", "Yes.")), Dialogue(("Cold!", "Very."))])[0]
    >>> pool.context, pool.replies
    (('Tea?',), ('Yes.', 'Very.'))
    """
    said = [(number, exchange) for number, dialogue in enumerate(dialogues) for exchange in exchanges(dialogue)]
    if len({exchange.response.casefold() for _, exchange in said}) < 2 or len(dialogues) < 2:
        raise InputError(f"{len(dialogues)} dialogues to measure on", wanted="two or more, with different replies")
    chosen = first_share(len(said), min(1.0, (most or len(said)) / len(said)), seed)
    pools = []
    for place in chosen:
        number, exchange = said[place]
        drawn = generator(seed, place, 1).integers(len(said), size=TRIES * POOL)
        others = {said[i][1].response.casefold(): said[i][1].response for i in drawn if said[i][0] != number}
        others.pop(exchange.response.casefold(), None)
        if others:
            pools.append(Pool(exchange.context, (exchange.response, *list(others.values())[: POOL - 1])))
    return pools


def ranked(scores: Sequence[Floats]) -> Ranked:
    """The figures of a scorer; equal scores count as every order of them does on average.

    >>> knows_nothing = ranked([np.zeros(10)])
    >>> knows_nothing.r10_at_1, knows_nothing.r10_at_2, round(knows_nothing.mrr, 3)
    (0.1, 0.2, 0.293)
    """
    firsts, seconds = first_shares(scores), _within(scores, 2)
    reciprocal = reciprocal_ranks(scores)
    return Ranked(
        float(firsts.mean()),
        float(seconds.mean()),
        float(reciprocal.mean()),
        len(scores),
        interval(firsts),
        interval(reciprocal),
    )


def first_shares(scores: Sequence[Floats]) -> Floats:
    """For each pool 1 where the real reply is first, less where others share the place.

    >>> first_shares([np.array([0.9, 0.1]), np.array([0.5, 0.5]), np.array([0.1, 0.9])]).tolist()
    [1.0, 0.5, 0.0]
    """
    return _within(scores, 1)


def reciprocal_ranks(scores: Sequence[Floats]) -> Floats:
    """One over the rank of each pool's real reply.

    >>> reciprocal_ranks([np.array([0.5, 0.9, 0.1])]).tolist()
    [0.5]
    """
    above, equal = _standing(scores)
    return np.array([(1 / np.arange(a + 1, a + e + 1)).mean() for a, e in zip(above, equal, strict=True)])


def by_words(pools: Sequence[Pool]) -> list[Floats]:
    """BM25 of a reply for the words of its context; how rare words are is counted in all replies."""
    replies = list(dict.fromkeys(reply for pool in pools for reply in pool.replies))
    places = {reply: place for place, reply in enumerate(replies)}
    lexical = Lexical.of(replies)
    return [lexical.scores(" ".join(pool.context))[[places[reply] for reply in pool.replies]] for pool in pools]


def by_vectors(vectors: TextVectors, pools: Sequence[Pool]) -> list[Floats]:
    """The cosine of context and reply."""
    texts = list(dict.fromkeys(text for pool in pools for text in (context_text(pool.context), *pool.replies)))
    places = {text: place for place, text in enumerate(texts)}
    found = vectors(texts)
    return [
        found[[places[reply] for reply in pool.replies]] @ found[places[context_text(pool.context)]] for pool in pools
    ]


def by_reading(cross: Predictor, pools: Sequence[Pool]) -> list[Floats]:
    """What the cross-encoder says of context and reply, read together."""
    examples = [ChoiceExample(context_text(pool.context), pool.replies) for pool in pools]
    rows = cross.task.rows(examples, cross.tokenizer)
    return [scores[:, 0] for scores in outputs_of_texts(len(examples), rows, cross.outputs(rows))]


def _standing(scores: Sequence[Floats]) -> tuple[Floats, Floats]:
    """How many replies stand above each pool's real one, and how many with it, itself among them."""
    above = [int((own > own[0]).sum()) for own in scores]
    return np.array(above), np.array([int((own == own[0]).sum()) for own in scores])


def _within(scores: Sequence[Floats], rank: int) -> Floats:
    """How likely each real reply is among the first so many, equals in any order."""
    above, equal = _standing(scores)
    return np.clip((rank - above) / equal, 0, 1)


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [round(part, 4) for part in value]
    return round(value, 4) if isinstance(value, float) else value
