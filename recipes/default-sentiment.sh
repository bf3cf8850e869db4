#!/bin/sh
# default:sentiment: positive or negative, English and Chinese, on the default model, whose lower part it shares.
# From the project's root: recipes/default-sentiment.sh [DATA [WORK]].
set -eu
data=${1:-../shared/data} work=${2:-runs/default-sentiment}
unmask=${UNMASK:-.venv/bin/unmask} embedded=${EMBEDDED:-unmask/embedded} model=${MODEL:-default}

"$unmask" finetune classify -m "$model" -o "$work" \
    --train sst2="$data/glue/SST-2" --train chnsenticorp="$data/chnsenticorp" --rename 0=negative,1=positive \
    --length "${LENGTH:-256}" --freeze "${FREEZE:-2}" --epochs "${EPOCHS:-3}" --lr "${LR:-1e-4}" --most "${MOST:-100000}"
"$unmask" convert "$work" -o "$embedded/sentiment" --base "$model" --dtype float16 --checksums
cat >> "$embedded/sentiment/README.md" <<'CARD'

## Data

The Stanford Sentiment Treebank (SST-2, research use) and ChnSentiCorp (no terms stated): whoever uses the model for more
than research should learn it again from texts of their own.
CARD
