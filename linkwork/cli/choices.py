"""Choices of options that several commands may have, by the names that the plant gives them."""

from __future__ import annotations

from enum import StrEnum


class OnOff(StrEnum):
    """Whether something holds."""

    ON = "on"
    OFF = "off"


class RoleChoice(StrEnum):
    """What a client's key permits."""

    OBSERVE = "observe"
    OPERATE = "operate"
    SERVICE = "service"


class RestartChoice(StrEnum):
    """When a daemon of a group is started again."""

    ON_FAILURE = "on-failure"
    NO = "no"


class FormulationChoice(StrEnum):
    """Ways to move under constraints."""

    PROJECTED = "projected"
    UDWADIA_KALABA = "udwadia_kalaba"
    LAGRANGE = "lagrange"
    PLAIN = "plain"
    SYMMETRIC = "symmetric"
    SCALED = "scaled"
    MINIMAL = "minimal"
    TAYLOR = "taylor"


class StabilisationChoice(StrEnum):
    """What keeps the constraints closed while time goes on."""

    NONE = "none"
    BAUMGARTE = "baumgarte"
    PROJECTION = "projection"


class IntegratorChoice(StrEnum):
    """Methods of integration."""

    ADAPTIVE_RK4 = "adaptive_rk4"
    RK4 = "rk4"
    SEMI_IMPLICIT = "semi_implicit"
    GAUSS = "gauss"
    DOP853 = "dop853"
    LSODA = "lsoda"


class StartChoice(StrEnum):
    """Whether the initial state is brought onto the closures."""

    ASSEMBLED = "assembled"
    AS_GIVEN = "as-given"


class PlaceChoice(StrEnum):
    """Where in a step reactions are taken."""

    BEGIN = "begin"
    MIDDLE = "middle"
    END = "end"


class SchemaChoice(StrEnum):
    """Files of which there is a JSON schema."""

    MACHINE = "machine"
    FAULTS = "faults"
