#!/bin/sh
# default:answers: answers that stand in a text, English and Chinese, on the default model.
# What a question and its context share is marked: a small encoder finds it late by itself.
# From the project's root: recipes/default-answers.sh [DATA [WORK]]. Called again it goes on where it was interrupted.
set -eu
data=${1:-../shared/data} work=${2:-runs/default-answers}
unmask=${UNMASK:-.venv/bin/unmask} embedded=${EMBEDDED:-unmask/embedded} model=${MODEL:-default}

# A share of SQuAD, so that the 10,000 Chinese questions are not drowned by its 87,000.
learn() { # MODEL WORK FROZEN RATE SEED
    "$unmask" finetune answer -m "$1" -o "$2" --freeze "$3" --lr "$4" --seed "$5" \
        --train squad1="$data/squad" --train cmrc2018="$data/cmrc2018" --most "${MOST:-36000}" \
        --dev squad1="$data/squad" --dev cmrc2018="$data/cmrc2018/trial.json" \
        --length "${LENGTH:-384}" --marked --epochs "${EPOCHS:-1}" --batch-size 16 --precision "${PRECISION:-auto}"
}

# The layers first; then, with another share, the word embeddings as well.
learn "$model" "$work/layers" 0 "${LR:-6e-4}" 0
learn "$work/layers" "$work/run" "" "${LR:-5e-4}" 1
"$unmask" convert "$work/run" -o "$embedded/answers" --base "$model" --rows 6000 --dtype int8 --checksums
cat >> "$embedded/answers/README.md" <<'CARD'

## Data

SQuAD 1.1 and CMRC 2018, both CC BY-SA 4.0.
CARD
