"""Split texts into BERT's word pieces without the package tokenizers.

Static embeddings usually have BERT's tokenizer, so a bundle of them needs numpy alone.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from ranklet.runtime.ground.errors import MissingPackageError
from ranklet.runtime.ground.extras import install

_CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
_WHITE = frozenset("\t\n\r\x0b\x0c\x85\u2028\u2029")  # spaces, besides those of category Zs
_KEPT_WORDS = 1 << 16
_LONGEST_KEPT = 64  # characters between two spaces whose tokens are kept


class Unsupported(Exception):  # noqa: N818, because it is no error
    """A tokenizer is of another form than BERT's."""


@dataclass
class Encoding:
    """The tokens of a text, with the names that the package tokenizers uses."""

    ids: list[int] = field(default_factory=list)
    offsets: list[tuple[int, int]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    @property
    def special_tokens_mask(self) -> list[int]:
        """0 for each token, because none was added."""
        return [0] * len(self.ids)

    @property
    def type_ids(self) -> list[int]:
        """0 for each token, because there is one text."""
        return [0] * len(self.ids)

    sequence_ids = type_ids


class AddedToken(NamedTuple):
    """A token that is found in a text as it is."""

    content: str
    special: bool


class _Model(NamedTuple):
    unk_token: str


class WordPieces:
    """A tokenizer of word pieces, as a `Tokenizer` has them.

    It adds no special tokens, because networks that read them need onnxruntime anyway.

    Args:
        described: the content of a tokenizer.json.

    Raises:
        Unsupported: its form is another one.
        KeyError, TypeError, AttributeError, ValueError: it is damaged.
    """

    def __init__(self, described: Mapping[str, Any]) -> None:
        model, normal = described["model"], described["normalizer"] or {}
        if model.get("type", "WordPiece") != "WordPiece":
            raise Unsupported(f"model {model['type']}")
        for part, wanted in (
            ("normalizer", "BertNormalizer"),
            ("pre_tokenizer", "BertPreTokenizer"),
        ):
            if (kind := (described[part] or {}).get("type", "none")) != wanted:
                raise Unsupported(f"{part} {kind}")
        self._vocabulary: dict[str, int] = dict(model["vocab"])
        if {*map(type, self._vocabulary.values())} - {int} or min(self._vocabulary.values()) < 0:
            raise ValueError("the id of a token is no number from 0")
        self._described = described
        self.model = _Model(str(model["unk_token"]))  # as in the package; imports read it
        self._unknown = self._vocabulary[self.model.unk_token]
        self._prefix = str(model["continuing_subword_prefix"])
        self._longest = int(model["max_input_chars_per_word"])
        lower, accents = normal["lowercase"], normal["strip_accents"]
        self._clean, self._spaced = bool(normal["clean_text"]), bool(normal["handle_chinese_chars"])
        self._lower, self._bare = bool(lower), bool(lower if accents is None else accents)
        self._added: dict[str, int] = {}
        self._decoder: dict[int, AddedToken] = {}
        for token in described["added_tokens"] or ():
            if any(token[each] for each in ("single_word", "lstrip", "rstrip", "normalized")):
                raise Unsupported(f"token {token['content']!r}")
            self._added[token["content"]] = int(token["id"])
            self._decoder[int(token["id"])] = AddedToken(token["content"], bool(token["special"]))
        spelled = sorted(map(re.escape, self._added), key=len, reverse=True)
        self._literal = re.compile(f"({'|'.join(spelled)})") if spelled else None
        if min(self._added.values(), default=0) < 0:
            raise ValueError("the id of a token is below 0")
        self._character = lru_cache(None)(self._normal)
        self._pieces = lru_cache(_KEPT_WORDS)(self._split)
        self._kept = lru_cache(_KEPT_WORDS)(self._between_spaces)

    def encode(
        self, text: str, pair: str | None = None, *, add_special_tokens: bool = False
    ) -> Encoding:
        """Return the tokens of a text.

        Raises:
            MissingPackageError: special tokens or a pair of texts are requested.
        """
        if add_special_tokens or pair is not None:
            self.num_special_tokens_to_add(pair is not None)
        found, place = Encoding(), 0
        for at, part in enumerate(self._literal.split(text) if self._literal else [text]):
            if at % 2:
                found.ids.append(self._added[part])
                found.offsets.append((place, place + len(part)))
                found.tokens.append(part)
            else:
                self._add(part, place, found)
            place += len(part)
        return found

    def _add(self, text: str, begin: int, found: Encoding) -> None:
        """Add the tokens of a text without added tokens, whose first character is at `begin`."""
        for part in text.split(" "):  # which ends a word in every case
            own = (self._kept if len(part) <= _LONGEST_KEPT else self._between_spaces)(part)
            found.ids += own.ids
            found.tokens += own.tokens
            found.offsets += [(begin + first, begin + last) for first, last in own.offsets]
            begin += len(part) + 1

    def encode_batch(
        self, texts: Sequence[str], *, add_special_tokens: bool = False
    ) -> list[Encoding]:
        """Return the tokens of each text; see `encode`."""
        return [self.encode(text, add_special_tokens=add_special_tokens) for text in texts]

    def _between_spaces(self, text: str) -> Encoding:
        """Return the tokens of a text without spaces and added tokens."""
        found = Encoding()
        word: list[str] = []
        places: list[int] = []

        def end_word() -> None:
            if word:
                for piece, first, last, spelling in self._pieces("".join(word)):
                    found.ids.append(piece)
                    found.offsets.append((places[first], places[last - 1] + 1))
                    found.tokens.append(spelling)
                word.clear()
                places.clear()

        for place, character in enumerate(text):
            for normal in self._character(character):
                if normal == " " or _is_space(normal):
                    end_word()
                elif _is_punctuation(normal):
                    end_word()
                    word.append(normal)
                    places.append(place)
                    end_word()
                else:
                    word.append(normal)
                    places.append(place)
        end_word()
        return found

    def _normal(self, character: str) -> str:
        """Return what becomes of a character, nothing or one or more."""
        if self._clean and (character == "\ufffd" or _is_control(character)):
            return ""
        spaced = self._spaced and _is_chinese(character)
        if self._bare:
            parts = unicodedata.normalize("NFD", character)
            character = "".join(each for each in parts if unicodedata.category(each) != "Mn")
        if self._lower:
            character = "".join(each.lower() for each in character)
        return f" {character} " if spaced else character

    def _split(self, word: str) -> list[tuple[int, int, int, str]]:
        """Return the longest pieces of a word from its beginning, each with its place in it."""
        pieces, begin = [], 0
        while begin < len(word) <= self._longest:
            prefix = self._prefix if begin else ""
            for end in range(len(word), begin, -1):
                spelling = prefix + word[begin:end]
                if (piece := self._vocabulary.get(spelling)) is not None:
                    pieces.append((piece, begin, end, spelling))
                    begin = end
                    break
            else:
                break
        unknown = (self._unknown, 0, len(word), self.model.unk_token)
        return pieces if begin == len(word) else [unknown]

    @cached_property
    def _spellings(self) -> dict[int, str]:
        return {id_: token for token, id_ in (self._vocabulary | self._added).items()}

    def get_vocab(self) -> dict[str, int]:
        """Return the ids of the tokens."""
        return self._vocabulary | self._added

    def get_vocab_size(self) -> int:
        """Return the number of tokens."""
        return len(self._spellings)

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Return the added tokens by their ids."""
        return dict(self._decoder)

    def num_special_tokens_to_add(self, is_pair: bool) -> int:  # noqa: ARG002
        """Raise MissingPackageError, because only the package knows them."""
        raise MissingPackageError(
            "special tokens need the package 'tokenizers', which is not installed; run: "
            f"{install('onnx')}",
            name="tokenizers",
        )

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token."""
        return self._added.get(token, self._vocabulary.get(token))

    def id_to_token(self, number: int) -> str | None:
        """Return the spelling of a token."""
        return self._spellings.get(number)

    def to_str(self) -> str:
        """Return the content of a tokenizer.json, without truncation and padding."""
        described = {**self._described, "truncation": None, "padding": None}
        return json.dumps(described, ensure_ascii=False)


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Co") and character not in "\t\n\r"


def _is_space(character: str) -> bool:
    return character in _WHITE or unicodedata.category(character) == "Zs"


def _is_punctuation(character: str) -> bool:
    if character < "\x80":
        return "!" <= character <= "~" and not character.isalnum()
    return unicodedata.category(character)[0] == "P"


def _is_chinese(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _CHINESE)
