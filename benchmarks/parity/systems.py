"""The rankers and bundles that `bundle_parity` makes: every kind, with options that matter."""

from dataclasses import dataclass

EXPORT = "--variants fp32,fp16,int8 --max-ndcg-loss 1"


@dataclass(frozen=True)
class System:
    """A checkpoint, a bundle, or both; what is empty is left out, except `index`."""

    train: str = ""  # kind and options of `ranklet train`
    bundle: str = ""  # systems whose checkpoints are exported together
    export: str = EXPORT  # options of the command, as the following
    index: str = ""
    fuse: str = ""


PIECES = "--field wordpieces --tokenizer bert/tokenizer.json"
SPLITS = "--split train --tune dev"
BM25 = f"{SPLITS} --bm25 bm25/checkpoint"
STEPS = "--seed 7 --epochs 2 --lr 5e-3 --batch 8 --device cpu --float32"
TABLE = f"neural_model1 {STEPS} {BM25} --lr 5e-2 --backbone bert --vector 16 --negatives-each 2"
REPBERT = "--loss margin --similarity dot --segments distinct"
ENCODER = f"{STEPS} {SPLITS} --max-query-tokens 16 --max-document-tokens 48"
PAIRS = f"cross_encoder {STEPS} {BM25} --backbone bert --max-query-tokens 12 --max-tokens 64"
CROSS = f"{PAIRS} --loss margin --batch 4 --accumulation 2 --negatives-each 1"
WINDOWS = "--chunks 3 --chunking words --window 12 --stride 6 --combine max"
TERMS = f"{STEPS} {BM25} --hidden 32 --blocks 1 --heads 4 --kernels 6 --max-document-tokens 40"
LAYERS = "--groups 4 --width 3 --pool-window 12 --pool-stride 4"
NDRM = f"conformer_kernel {TERMS} {LAYERS} --terms 24 --candidates 48 --architecture"

# A later system may use the checkpoints of the earlier ones.
SYSTEMS = {
    "bm25": System("bm25", "bm25"),
    "bm25_pieces": System(
        f"bm25 {PIECES} --measure nDCG@10 --no-titles", "bm25_pieces", index="--no-titles"
    ),
    "model1": System(f"model1 {BM25}", "bm25 model1", fuse="--folds 3"),
    "model1_pieces": System(
        f"model1 {BM25} {PIECES} --iterations 3", "bm25 model1_pieces", fuse="--measure nDCG@10"
    ),
    "margin": System(f"{TABLE} --objective margin --embeddings random --lr 0.3 --negatives random"),
    "neural_model1": System(TABLE, "bm25 neural_model1 margin", fuse="--name learned"),
    "dense": System(f"dense {REPBERT} {ENCODER} --backbone bert", "dense"),
    "fused": System("", "bm25 model1 dense", fuse="--rankers bm25,model1,dense"),
    "epic": System(f"epic {ENCODER} --backbone bert", "epic", f"{EXPORT} --prune 40"),
    "epic_pairwise": System(
        f"epic {ENCODER} --backbone bert --pairwise", "epic_pairwise",
        f"{EXPORT} --impacts uint8",
    ),
    "epic_second": System(f"epic {ENCODER} --start epic/checkpoint --lr 2e-3 --negatives random"),
    "vanilla": System(CROSS),
    "cedr_knrm": System(f"{CROSS} --head cedr_knrm --chunks 2 --loss cross_entropy"),
    "cedr_drmm": System(f"{CROSS} --head cedr_drmm --layers 1"),
    "cedr_pacrr": System(f"{CROSS} --head cedr_pacrr --seed 2"),
    "bert_model1": System(f"{CROSS} --head model1 --expansion mask"),
    "marked": System(f"{CROSS} --marking pre_pair {WINDOWS}"),
    "markers": System(f"{CROSS} --head marker_avg --marking pre_doc"),
    "cross": System("", "bm25 vanilla cedr_knrm cedr_drmm cedr_pacrr bert_model1 marked markers"),
    "ndrm1": System(f"{NDRM} ndrm1 --impacts float16"),
    "ndrm2": System(f"{NDRM} ndrm2 --query-log log --lr 0.5"),
    "ndrm3": System(f"{NDRM} ndrm3", "ndrm3"),
    "ndrm3_onnx": System(f"{NDRM} ndrm3 --scorer onnx"),
    "tk": System(f"tk {TERMS}", "bm25 tk"),
    "ndrm": System("", "bm25 ndrm1 ndrm2 ndrm3_onnx"),
    # All kinds share one bundle's word pieces here, and fp32 answers, because there is no int8.
    "together": System(
        "", "bm25 model1_pieces neural_model1 dense epic_second bert_model1 ndrm3 tk",
        "--variants fp32", fuse="--rankers bm25,model1_pieces,dense,epic_second,ndrm3",
    ),
}  # fmt: skip
