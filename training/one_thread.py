"""Run PyTorch in several threads, each of which computes alone."""

from threading import Lock


class _OneThreadEach:
    """Let each thread that runs PyTorch compute alone, while there are as many as processors.

    PyTorch's own threads wait for each other many times per text, and spin meanwhile. Where a
    processor is busy with something else, a text then takes ten times its processor time.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._before = Lock(), 0, 1

    def __enter__(self) -> None:
        import torch

        with self._lock:
            if not self._inside:
                self._before = torch.get_num_threads()
            self._inside += 1
            torch.set_num_threads(1)  # of this thread, and of those that begin now

    def __exit__(self, *_: object) -> None:
        import torch

        with self._lock:
            self._inside -= 1
            if not self._inside:
                torch.set_num_threads(self._before)


one_thread_each = _OneThreadEach()
