"""A further layer that begins by giving every token the mean of all: for encoders that were trained to be averaged.

Sentence encoders (Reimers and Gurevych, 2019) are trained by the mean of their tokens; their [CLS], which classifiers
read, never was. The layer is one of BERT's own, so the folder stays in the published layout.
"""

import torch

from unmask.model.layers import Layer

LOUDNESS = 4.0  # of the mean, beside the token itself, which is added to it


def start_as_mean(layer: Layer) -> None:
    """Sets a fresh layer's weights: heads that look at all tokens alike, values passed on, nothing added behind them.

    Keys stay as chance made them, so that what heads look at can be learned.

    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.groups import equal_lengths
    >>> layer = Layer(BertConfig.named("tiny"), 0)
    >>> start_as_mean(layer)
    >>> tokens = torch.randn(3, 128)
    >>> expected = torch.nn.functional.layer_norm(tokens + LOUDNESS * tokens.mean(0), (128,))
    >>> torch.allclose(layer(tokens, equal_lengths(((1, 3),))), expected, atol=1e-4)
    True
    """
    attended, width = layer.attention_out.in_features, layer.attention_out.out_features
    with torch.no_grad():
        layer.qkv.weight[:attended] = 0
        layer.qkv.weight[2 * attended :] = torch.eye(attended, width)
        layer.attention_out.weight.copy_(LOUDNESS * torch.eye(width, attended))
        for part in (layer.qkv.bias, layer.attention_out.bias, layer.down.weight, layer.down.bias):
            part.zero_()
