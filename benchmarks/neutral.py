"""From what confidence on a model of two classes should take a side: sentences of ours in, accuracy by threshold out.

    OMP_NUM_THREADS=1 python benchmarks/neutral.py --model SST2_FOLDER > result.json

Sentences are plainly positive, negative, or neither. A threshold is right where positive and negative ones keep their
side and the others are called neutral. It is chosen on twenty sentences of each kind and held against ten others.
"""

import argparse
import json
from typing import Any

import numpy as np

from unmask.apps.sentiment import Sentiment

CHOSEN_ON = {
    "positive": """
        A warm and funny story from beginning to end.
        The soup was the best I have had in years.
        I love how quiet this new fan is.
        She plays the part with wit and real feeling.
        Delivery was quick and everyone was kind.
        An honest, moving little film.
        The room was spotless and the view was lovely.
        This book kept me happy for a whole week.
        What a delightful evening we had.
        The staff went out of their way to help us.
        It works perfectly and looks beautiful.
        A clever plot, and the ending is wonderful.
        The bread is fresh and the coffee is excellent.
        I could listen to this record all day.
        A great teacher who makes hard things easy.
        The garden is a joy in every season.
        Best phone I have ever owned.
        The children laughed and asked to see it again.
        Superb acting and a script full of surprises.
        I am very pleased with the repair.
    """,
    "negative": """
        A dull story that never goes anywhere.
        The soup was cold and tasted of nothing.
        I hate how loud this fan is.
        She reads her lines as if she were bored.
        Delivery took a month and nobody answered my letters.
        A lazy, tiresome film.
        The room was dirty and smelled of smoke.
        I gave up on this book after thirty pages.
        What a waste of an evening.
        The staff were rude and ignored us.
        It broke on the second day and looks cheap.
        A stupid plot with a terrible ending.
        The bread is stale and the coffee is awful.
        This record gave me a headache.
        A poor teacher who makes easy things hard.
        The garden is an ugly mess.
        Worst phone I have ever owned.
        The children were bored and wanted to go home.
        Wooden acting and a script without one idea.
        I am very disappointed with the repair.
    """,
    "neutral": """
        The film runs for two hours and ten minutes.
        The soup is served from noon to three.
        The fan has three speeds and a timer.
        She plays a nurse in the second act.
        Delivery takes between three and five days.
        It was filmed in Norway in 2014.
        The room is on the fourth floor, next to the stairs.
        The book has twelve chapters and an index.
        We met at seven and left at ten.
        The staff wear blue shirts.
        It comes in black, white and grey.
        The plot follows two brothers from 1910 to 1930.
        The bread is baked at four in the morning.
        The record was pressed in Leipzig.
        He teaches chemistry on Mondays and Thursdays.
        The garden lies behind the house.
        The phone has two cameras and weighs 180 grams.
        The children sat in the third row.
        The script was written by the director.
        The repair was finished on Tuesday.
    """,
}
HELD_AGAINST = {
    "positive": """
        The trip was worth every penny.
        Her voice is clear and full of life.
        We had a marvellous time at the lake.
        My new shoes fit like a dream.
        A charming hotel with friendly people.
        The lecture was inspiring and easy to follow.
        He cooks the finest fish in town.
        The game is great fun for the whole family.
        I recommend this shop to everyone.
        The choir sang beautifully.
    """,
    "negative": """
        The trip was a complete disaster.
        Her voice is thin and painful to hear.
        We had a miserable time at the lake.
        My new shoes fell apart within a week.
        A gloomy hotel with unfriendly people.
        The lecture was confusing and far too long.
        He ruins every fish he cooks.
        The game is boring and full of mistakes.
        I would never buy from this shop again.
        The choir sang badly out of tune.
    """,
    "neutral": """
        The trip starts at the main station.
        She sings in the choir on Fridays.
        The lake is nine kilometres long.
        The shoes are sold in sizes 36 to 46.
        The hotel has forty rooms.
        The lecture begins at a quarter past two.
        He buys the fish at the market.
        The game is for two to four players.
        The shop is opposite the library.
        The choir has thirty members.
    """,
}
THRESHOLDS = [round(0.5 + 0.05 * step, 2) for step in range(10)]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    print(json.dumps(measure(parser.parse_args().model), indent=2))


def measure(model: str) -> dict[str, Any]:
    """What each threshold gives on both sets."""
    feel = Sentiment.open(model, neutral_below=0.0)
    sets = {"chosen_on": CHOSEN_ON, "held_against": HELD_AGAINST}
    return {name: accuracies(feel, sentences) for name, sentences in sets.items()}


def accuracies(feel: Sentiment, sentences: dict[str, str]) -> list[dict[str, float]]:
    """The mean accuracy over the three kinds, and that of each, for every threshold."""
    texts = [(line.strip(), side) for side, lines in sentences.items() for line in lines.strip().splitlines()]
    judged = [feel(text).to_dict() for text, _ in texts]
    rows = []
    for threshold in THRESHOLDS:
        said = ["neutral" if one["confidence"] < threshold else one["label"] for one in judged]
        right = {
            side: float(np.mean([given == side for given, (_, own) in zip(said, texts, strict=True) if own == side]))
            for side in sentences
        }
        rows.append({"neutral_below": threshold, "accuracy": round(float(np.mean([*right.values()])), 3), **right})
    return rows


if __name__ == "__main__":
    main()
