#!/bin/sh
# The default model: vocabulary, store, pretraining in English and Chinese, and the folder embedded in the package.
# From the project's root: recipes/default.sh [DATA [WORK [BUDGET]]]. Called again it goes on where it was interrupted.
set -eu
data=${1:-../shared/data} work=${2:-runs/default} budget=${3:-8h}
unmask=${UNMASK:-.venv/bin/unmask} embedded=${EMBEDDED:-unmask/embedded}
mkdir -p "$work"

[ -f "$work/vocab.txt" ] || "$unmask" vocab learn "$data/pretrain_en" "$data/pretrain_zh" \
    -o "$work/vocab.txt" --size "${PIECES:-20000}"
[ -d "$work/store" ] || "$unmask" prepare "$data/pretrain_en" "$data/pretrain_zh" \
    -o "$work/store" --vocab "$work/vocab.txt" --drop-duplicates
"$unmask" pretrain "$work/store" -o "$work/first" --size "${SIZE:-mini}" --budget "$budget" \
    --length 128,512 --phases 80,20 --mask-unit word --words jieba --held-out 0.01

# Then for a third of the time with single Chinese characters hidden, as people leave them out, and well-known beginnings
# met more often than twice
[ -f "$work/beginnings.txt" ] || "${PYTHON:-.venv/bin/python}" recipes/beginnings.py "$data" -o "$work/beginnings.txt"
[ -d "$work/second-store" ] || "$unmask" prepare "$data/pretrain_en" "$data/pretrain_zh" "$work/beginnings.txt" \
    -o "$work/second-store" --vocab "$work/vocab.txt"
"$unmask" pretrain "$work/second-store" -o "$work/second" --from "$work/first" --budget "${SECOND:-160m}" \
    --length 128,512,64 --phases 50,15,35 --mask-unit word --held-out 0.01 --batch-tokens 8192 --lr 6e-4
# And from gentler peaks, at last with two layers more: the last stage may be repeated from its result, without --layers, while it
# gains. Two cores learn faster by `torchrun --nproc-per-node 2 -m unmask pretrain ... --threads 1` than with two threads.
"$unmask" pretrain "$work/second-store" -o "$work/third" --from "$work/second" --budget "${THIRD:-80m}" \
    --length 128,512,64 --phases 55,12,33 --mask-unit word --held-out 0.01 --batch-tokens 8192 --lr 4.5e-4
"$unmask" pretrain "$work/second-store" -o "$work/run" --from "$work/third" --layers 6 --budget "${FOURTH:-160m}" \
    --length 128,512,64 --phases 55,12,33 --mask-unit word --held-out 0.01 --batch-tokens 16384 --lr 6e-4
# Judged in both languages, without its rarest pieces, so that it stays below 20 MB
"${PYTHON:-.venv/bin/python}" benchmarks/judge_default.py "$work/run" "$work/second-store" \
    --pairs "$data/blimp/blimp.part.jsonl" --pieces "${KEPT:-18300}" -o "$embedded/default"
