#!/bin/sh
# default:sentiment: positive or negative, English and Chinese, on the default model, of which it shares the
# pieces that no example has: their own vectors are what tells most of a word's mood.
# From the project's root: recipes/default-sentiment.sh [DATA [WORK]].
set -eu
data=${1:-../shared/data} work=${2:-runs/default-sentiment}
unmask=${UNMASK:-.venv/bin/unmask} embedded=${EMBEDDED:-unmask/embedded} model=${MODEL:-default}

"$unmask" finetune classify -m "$model" -o "$work" \
    --train sst2="$data/glue/SST-2" --train chnsenticorp="$data/chnsenticorp" --rename 0=negative,1=positive \
    --length "${LENGTH:-128}" --epochs "${EPOCHS:-2}" --lr "${LR:-4e-4}" --most "${MOST:-40000}" \
    --precision "${PRECISION:-float32}"
"$unmask" convert "$work" -o "$embedded/sentiment" --base "$model" --rows 6000 --dtype int8 --checksums
cat >> "$embedded/sentiment/README.md" <<'CARD'

## Data

The Stanford Sentiment Treebank (SST-2, research use) and ChnSentiCorp (no terms stated): whoever uses the model for more
than research should learn it again from texts of their own.
CARD
