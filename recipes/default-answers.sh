#!/bin/sh
# default:answers: answers that stand in a text, English and Chinese, on the default model, whose
# embeddings it shares. What a question and its context share is marked: a small encoder finds it late by itself.
# From the project's root: recipes/default-answers.sh [DATA [WORK]].
set -eu
data=${1:-../shared/data} work=${2:-runs/default-answers}
unmask=${UNMASK:-.venv/bin/unmask} embedded=${EMBEDDED:-unmask/embedded} model=${MODEL:-default}

# A share of SQuAD, so that the 10,000 Chinese questions are not drowned by its 87,000.
"$unmask" finetune answer -m "$model" -o "$work" \
    --train squad1="$data/squad" --train cmrc2018="$data/cmrc2018" --most "${MOST:-36000}" \
    --dev squad1="$data/squad" --dev cmrc2018="$data/cmrc2018/trial.json" \
    --length "${LENGTH:-384}" --marked --freeze 0 --epochs "${EPOCHS:-1}" --batch-size 16 --lr "${LR:-6e-4}" \
    --precision "${PRECISION:-float32}"
"$unmask" convert "$work" -o "$embedded/answers" --base "$model" --dtype int8 --checksums
cat >> "$embedded/answers/README.md" <<'CARD'

## Data

SQuAD 1.1 and CMRC 2018, both CC BY-SA 4.0.
CARD
