"""Where the words of a text stand, by the rules that WordPiece splits by: blanks, punctuation, Chinese characters."""

from tokenizers import Regex, pre_tokenizers

from unmask.text.tokenizer import CHINESE

_SPLIT = pre_tokenizers.Sequence(
    [pre_tokenizers.Split(Regex(f"[{CHINESE}]"), "isolated"), pre_tokenizers.BertPreTokenizer()]
)


def word_spans(text: str) -> tuple[tuple[int, int], ...]:
    """The start and end of every word, in characters.

    >>> word_spans("Don't 去北京!")
    ((0, 3), (3, 4), (4, 5), (6, 7), (7, 8), (8, 9), (9, 10))
    """
    return tuple(span for _, span in _SPLIT.pre_tokenize_str(text))
