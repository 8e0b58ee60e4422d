# SPDX-License-Identifier: Apache-2.0
from typing import Tuple, Type


class Error(ValueError):
    """What went wrong (`what`), where (`where`: an option, a file, a key), and what would be right (`hint`)."""

    def __init__(self, what: str, where: str = "", hint: str = "") -> None:
        line = f"{where}: {what}" if where else what
        super().__init__(f"{line} ({hint})" if hint else line)
        self.what, self.where, self.hint = what, where, hint

    def __reduce__(self) -> Tuple[Type["Error"], Tuple[str, str, str]]:
        return Error, (self.what, self.where, self.hint)
