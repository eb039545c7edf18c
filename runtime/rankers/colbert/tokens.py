"""The tokens that a ColBERT reads of a text: markers, expansion, and which tokens get a vector.

This is the one place where texts become tokens, for both training and serving.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ranklet.runtime.call.protocol import Role
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.colbert.settings import ColBERTSettings
from ranklet.runtime.text.tokenizing import TextToken, encode, ending, text_tokens, token_ids

if TYPE_CHECKING:
    from ranklet.runtime.text.tokenizing import Tokenizer


class Row(NamedTuple):
    """One input of the network."""

    ids: list[int]
    own: int  # number of tokens before the expansion
    attended: int  # number of tokens that the network attends to, the first ones
    kept: list[int]  # places of the tokens that get a vector, ascending


class TokenLayout:
    """Makes rows of token ids; immutable and shared by all threads.

    Args:
        settings: limits, prompts, markers, expansion, and which tokens get no vector.
        tokenizer: adds special tokens by post-processing; its truncation is not used.

    Raises:
        InputError: the tokenizer lacks a marker or the token of the expansion.
    """

    def __init__(self, settings: ColBERTSettings, tokenizer: "Tokenizer") -> None:
        self.settings, self.tokenizer = settings, tokenizer
        special = encode(tokenizer, "a", special=True).special_tokens_mask
        self._begin = next((at for at, mask in enumerate(special) if not mask), len(special))
        self._ends = ending(tokenizer)
        self._markers: dict[Role, list[int]] = {
            "query": self._token(settings.query_marker),
            "document": self._token(settings.document_marker),
        }
        expands = settings.expansion != "none"
        self._expansion = self._token(settings.expansion_token) if expands else []
        skipped = (tokenizer.token_to_id(token) for token in settings.skipped.split())
        self._skipped = {token for token in skipped if token is not None}

    def _token(self, name: str) -> list[int]:
        if not name:
            return []
        found = self.tokenizer.token_to_id(name)
        if found is None:
            raise InputError(f"the tokenizer has no token {name!r}, which the settings name")
        return [found]

    def limit(self, role: Role) -> int:
        """Return how many tokens of a text are read, without its marker."""
        most = {
            "query": self.settings.max_query_tokens,
            "document": self.settings.max_document_tokens,
        }
        return most[role] - len(self._markers[role])

    def rows(self, texts: Sequence[str], role: Role) -> tuple[list[Row], list[int]]:
        """Return the rows of texts, and the indices of the texts that were truncated."""
        prompt = self._prompt(role)
        prompted = [prompt + text for text in texts]
        ids, longer = token_ids(self.tokenizer, prompted, self.limit(role))
        return [self.row(own, role) for own in ids], longer

    def row(self, ids: Sequence[int], role: Role) -> Row:
        """Return the row of a text.

        Args:
            ids: the text's truncated token ids with special tokens, without marker and expansion.
            role: the role of the text.
        """
        whole = [*ids[: self._begin], *self._markers[role], *ids[self._begin :]]
        kept, length = list(range(len(whole))), len(whole)
        if not self.settings.special_tokens:
            begin, end = self._text_places(length, role)
            kept = kept[begin:end]
        if role == "document":
            kept = [at for at in kept if whole[at] not in self._skipped]
            return Row(whole, length, length, kept)
        added = self.settings.max_query_tokens - length if self._expansion else 0
        kept += range(length, length + added)
        attended = length + added * (self.settings.expansion == "attended")
        return Row(whole + self._expansion * added, length, attended, kept)

    def tokens(self, text: str, role: Role) -> list[TextToken]:
        """Return the tokens of a text's row, and where they stand in the text.

        Tokens of the prompt have places below 0. Markers and expansion tokens are special and stand
        nowhere.
        """
        prompt = self._prompt(role)
        found = text_tokens(self.tokenizer, prompt + text, self.limit(role))
        placed = [
            token._replace(begin=token.begin - len(prompt), end=token.end - len(prompt))
            for token in found
        ]
        row = self.row([token.id for token in found], role)
        added = row.ids[len(found) + len(self._markers[role]) :]
        markers, expansion = (
            [TextToken(id_, 0, 0, self.tokenizer.id_to_token(id_) or "", True) for id_ in ids]
            for ids in (self._markers[role], added)
        )
        return [*placed[: self._begin], *markers, *placed[self._begin :], *expansion]

    def _text_places(self, length: int, role: Role) -> tuple[int, int]:
        """Return where the text begins and ends in a row without expansion."""
        return self._begin + len(self._markers[role]), length - self._ends

    def _prompt(self, role: Role) -> str:
        prompts = {"query": self.settings.query_prompt, "document": self.settings.document_prompt}
        return prompts[role]
