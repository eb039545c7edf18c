"""The environment variables of ranklet, but for those of a request's limits."""

from enum import StrEnum, auto

PREFIX = "RANKLET_"  # of the names of all of them


class Variable(StrEnum):
    """A variable's name."""

    @staticmethod
    def _generate_next_value_(name: str, *_: object) -> str:
        return PREFIX + name

    API_KEY = auto()
    API_KEY_FILTERS = auto()
    BUNDLE = auto()
    CACHE = auto()
    CACHE_GB = auto()
    CHECK = auto()
    COLLECTION = auto()
    DEVICE = auto()
    DRAIN_SECONDS = auto()
    HEADER_SECONDS = auto()
    HOSTS = auto()
    KEY_PER_MINUTE = auto()
    KEY_REQUESTS = auto()
    MARGIN_MS = auto()
    MAX_BODIES_BYTES = auto()
    MAX_CONNECTIONS = auto()
    MILVUS_TOKEN = auto()
    ORIGINS = auto()
    POOL = auto()
    QUEUE = auto()
    THREADS = auto()
    TRACES = auto()
    WORKERS = auto()
    WRITE_KEYS = auto()
