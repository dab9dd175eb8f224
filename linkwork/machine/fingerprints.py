"""Hashes of plain data."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def fingerprint(data: Any) -> str:
    """Return the hex SHA-256 of plain data, dataclasses and arrays, independent of the order of keys."""
    text = json.dumps(_plain(data), sort_keys=True, separators=(",", ":"), allow_nan=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(data: Any) -> Any:
    if is_dataclass(data) and not isinstance(data, type):
        return {field.name: _plain(getattr(data, field.name)) for field in fields(data)}
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, np.ndarray):
        return _plain(data.tolist())
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if isinstance(data, (float, np.floating)):
        return float(data) + 0.0
    return data
