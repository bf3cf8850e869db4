#!/bin/sh
# default:answers: answers that stand in a text, English and Chinese, on the default model.
# What a question and its context share is marked: a small encoder finds it late by itself.
# From the project's root: recipes/default-answers.sh [DATA [WORK]]. Called again it goes on where it was interrupted.
set -eu
data=${1:-../shared/data} work=${2:-runs/default-answers}
unmask=${UNMASK:-.venv/bin/unmask} embedded=${EMBEDDED:-unmask/embedded} model=${MODEL:-default}

# A share of SQuAD, so that the 10,000 Chinese questions are not drowned by its 87,000. The upper half of the layers learns.
"$unmask" finetune answer -m "$model" -o "$work" --freeze "${FREEZE:-3}" --lr "${LR:-2e-4}" \
    --train squad1="$data/squad" --train cmrc2018="$data/cmrc2018" --most "${MOST:-24000}" \
    --dev squad1="$data/squad" --dev cmrc2018="$data/cmrc2018/trial.json" \
    --length "${LENGTH:-384}" --marked --epochs "${EPOCHS:-1}" --batch-size 16 --precision "${PRECISION:-auto}"
"$unmask" convert "$work" -o "$embedded/answers" --base "$model" --dtype int8 --checksums
cat >> "$embedded/answers/README.md" <<'CARD'

## Data

SQuAD 1.1 and CMRC 2018, both CC BY-SA 4.0.
CARD
