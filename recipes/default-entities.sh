#!/bin/sh
# default:entities: persons, places, organisations, and what else CoNLL-2003 names; English and Chinese, on the default
# model. Everything learns; what changes is stored in int8, which costs no score and half of the bytes.
# From the project's root: recipes/default-entities.sh [DATA [WORK]].
set -eu
data=${1:-../shared/data} work=${2:-runs/default-entities}
unmask=${UNMASK:-.venv/bin/unmask} embedded=${EMBEDDED:-unmask/embedded} model=${MODEL:-default}

# MSRA has no type MISC. In Chinese the model will not find it; in English it would miss it if it were taken out.
"$unmask" finetune tag -m "$model" -o "$work" \
    --train conll2003="$data/conll2003" --train msra_ner="$data/msra_ner" --most "${MOST:-20000}" \
    --length 128 --epochs "${EPOCHS:-4}" --lr "${LR:-4e-4}" --precision "${PRECISION:-float32}"
"$unmask" convert "$work" -o "$embedded/entities" --base "$model" --rows 6000 --dtype int8 --checksums
cat >> "$embedded/entities/README.md" <<'CARD'

## Data

CoNLL-2003 (terms of the Reuters corpus, research use) and MSRA NER (SIGHAN 2006, research use): whoever uses the model for
more than research should learn it again from texts of their own.
CARD
