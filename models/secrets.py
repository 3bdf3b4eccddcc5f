"""Stored secrets: encrypted under a key derived from `SECRET_KEY`, each bound to the row that owns it."""

import base64
import os
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from models.errors import DeskError

NONCE_BYTES = 12
WEBHOOK_SECRET_BYTES = 32
_VERSION = "v1:"


class Unreadable(DeskError):
    """A stored secret that the present `SECRET_KEY` does not open."""

    code = "conflict"

    def __init__(self) -> None:
        super().__init__("The stored secret can't be read: SECRET_KEY has changed. Make a new secret.")


def webhook_secret() -> str:
    """A new secret in the form of Standard Webhooks: `whsec_` and 32 random bytes as base64."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(WEBHOOK_SECRET_BYTES)).decode()


def encrypt(secret_key: str, plain: str, *, owner: str) -> str:
    """`plain` encrypted for `owner` (such as `endpoint:<id>`); only the same owner can read it back."""
    nonce = os.urandom(NONCE_BYTES)
    sealed = AESGCM(_key(secret_key)).encrypt(nonce, plain.encode(), owner.encode())
    return _VERSION + base64.b64encode(nonce + sealed).decode()


def decrypt(secret_key: str, stored: str, *, owner: str) -> str:
    """What `encrypt` was given. Raises `Unreadable` under another key or owner, or if it was changed."""
    try:
        raw = base64.b64decode(stored.removeprefix(_VERSION), validate=True)
        plain = AESGCM(_key(secret_key)).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], owner.encode())
    except (InvalidTag, ValueError):
        raise Unreadable from None
    return plain.decode()


def _key(secret_key: str) -> bytes:
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"recovery-desk stored secrets v1")
    return derivation.derive(secret_key.encode())
