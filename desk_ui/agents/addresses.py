"""How an agent's key stands in an address: one segment, whatever characters the key holds."""

import re
from urllib.parse import quote, unquote

from werkzeug.routing import BaseConverter, ValidationError

from models import text

_DOTS = re.compile(r"\.+")


class AgentKey(BaseConverter):
    """`<agent:agent>` in a rule. What is no letter, digit, `-`, `_` or `.` is written as `~` and its code.

    A percent sign would be read by proxies, which take `%2F` for a slash and `..` for the folder above.
    """

    regex = r"[A-Za-z0-9_.~-]{1,2400}"

    def to_python(self, value: str) -> str:
        try:
            key = unquote(value.replace("~", "%"), errors="strict")
        except UnicodeDecodeError:
            raise ValidationError from None
        # One address for each key: what is written otherwise is none.
        if not text.is_storable(key) or not key.strip() or self.to_url(key) != value:
            raise ValidationError
        return key

    def to_url(self, value: str) -> str:
        if _DOTS.fullmatch(value):
            return value.replace(".", "~2E")
        return quote(value.replace("~", "\0"), safe="").replace("%00", "%7E").replace("%", "~")
