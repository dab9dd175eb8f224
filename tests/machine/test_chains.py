"""Implementations for open and closed chains: every name of the table exists, and belongs to one kind."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module

import pytest

from linkwork.machine import load
from linkwork.machine.chains import CLOSED_CHAIN, OPEN_CHAIN, Chain, resolved
from linkwork.protocol.laws import LawSpec


def test_the_constraints_choose_the_chain() -> None:
    assert load("scara").chain is OPEN_CHAIN
    assert load("five_bar").chain is CLOSED_CHAIN


@pytest.mark.parametrize("chain", [OPEN_CHAIN, CLOSED_CHAIN])
def test_every_name_is_that_of_a_module_or_of_something_callable_in_one(chain: Chain) -> None:
    assert chain.law_factory in {field.name for field in fields(LawSpec)}
    for field in fields(Chain):
        value = getattr(chain, field.name)
        if field.name == "law_factory" or not value:
            continue
        for name in (value,) if isinstance(value, str) else value:
            assert callable(resolved(name)) if ":" in name else import_module(name), (field.name, name)


def test_the_kinds_share_nothing_but_modules() -> None:
    both = [(getattr(OPEN_CHAIN, field.name), getattr(CLOSED_CHAIN, field.name)) for field in fields(Chain)]
    assert all(mine != others for mine, others in both)
