"""Building the vectors of a million passages with MiniLM, as far as the time goes."""

from collections.abc import Iterator
from time import perf_counter

from benchmarks.gpu.setting import Result, Setting
from benchmarks.gpu.throughput import WORD, our_encoder

HEAD = ("passages", "seconds", "a second", "a million takes")
ABOUT = """
- From text to vectors in the processor's memory, in fp16, with the encoder that a build runs. \
Passages have a half to all of the tokens, and none is read from a disk. *Passages* are those that \
the time sufficed for; the last column says how long all would take.
"""
BLOCK = 4096  # passages per call, as many as fill several batches of the GPU


def rows(setting: Setting) -> Iterator[Result]:
    """Yield one row."""
    encoder, tokens = our_encoder(setting), setting.passage_tokens
    block = min(BLOCK, setting.many)
    texts = [WORD * (tokens // 2 + at * 7 % (tokens // 2)) for at in range(block)]
    encoder.encode(texts, tokens, 0)  # the first run of a shape is slow
    made, begin = 0, perf_counter()
    while made < setting.many and not (made and setting.time_is_up):
        encoder.encode(texts, tokens, 0)
        made += block
    rate = made / (perf_counter() - begin)
    yield Result(
        (f"{made:,} of up to {tokens} tokens", f"{made / rate:.1f}", f"{rate:,.0f}",
         f"{1e6 / rate / 60:.1f} minutes")
    )  # fmt: skip
