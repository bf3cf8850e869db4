#!/bin/sh
# default:entities: persons, places, organisations, and what else CoNLL-2003 names; English and Chinese, on the default
# model. The upper half of the layers learns; its changes are stored in int8.
# From the project's root: recipes/default-entities.sh [DATA [WORK]].
set -eu
data=${1:-../shared/data} work=${2:-runs/default-entities}
unmask=${UNMASK:-.venv/bin/unmask} embedded=${EMBEDDED:-unmask/embedded} model=${MODEL:-default}

# MSRA has no type MISC. In Chinese the model will not find it; in English it would miss it if it were taken out.
"$unmask" finetune tag -m "$model" -o "$work" \
    --train conll2003="$data/conll2003" --train msra_ner="$data/msra_ner" --most "${MOST:-20000}" \
    --length 128 --epochs "${EPOCHS:-3}" --lr "${LR:-2e-4}" --freeze "${FREEZE:-3}" --precision "${PRECISION:-auto}"
"$unmask" convert "$work" -o "$embedded/entities" --base "$model" --dtype int8 --checksums
cat >> "$embedded/entities/README.md" <<'CARD'

## Data

CoNLL-2003 (terms of the Reuters corpus, research use) and MSRA NER (SIGHAN 2006, research use): whoever uses the model for
more than research should learn it again from texts of their own.
CARD
