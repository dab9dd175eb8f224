"""Methods of `Robot` and commands, against the table of requests."""

from __future__ import annotations

import inspect

import click
import pytest

from linkwork.cli.app import WRITTEN, build
from linkwork.client.robot import Robot
from linkwork.controller.gateway.requests.handlers import HANDLERS
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.requests import params_of

MAPS = {"move": "target", "jog": "velocity", "preload": "effort"}
"""Parameters that are given by name: `robot.move(shoulder=0.3)`."""
LEASE = {"acquire", "release"}
"""Done by entering and leaving `with Robot()`."""
NO_COMMAND = LEASE | {"append", "check", "set_points", "path"}
"""`linkwork send` has options for these; `linkwork stream` sends set-points; `path` is for drawing."""


@pytest.mark.parametrize("method", sorted(set(REQUESTS) - LEASE))
def test_each_request_has_a_method_with_its_parameters(method: str) -> None:
    member = inspect.getattr_static(Robot, method)
    function = member.fget if isinstance(member, property) else member
    parameters = inspect.signature(function).parameters
    for field in params_of(method).model_fields:
        if field == "owner":
            continue
        by_name = MAPS.get(method) == field
        kinds = {parameter.kind for parameter in parameters.values()}
        assert field in parameters or (by_name and inspect.Parameter.VAR_KEYWORD in kinds), field
    assert function.__doc__


def test_each_request_has_a_command() -> None:
    app = build()
    registered = app.list_commands(click.Context(app))
    names = {name.replace("-", "_") for name in registered} | {"set_gain"}
    assert len(registered) == len(set(registered))
    assert all(app.load(name).name == name for name in registered)
    assert set(REQUESTS) - NO_COMMAND <= names
    assert set(REQUESTS) >= WRITTEN


def test_each_request_has_a_handler() -> None:
    assert set(HANDLERS) == set(REQUESTS)
