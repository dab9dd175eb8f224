"""Choices of options shared by several commands, with the names that the plant uses."""

from __future__ import annotations

from enum import StrEnum


class OnOff(StrEnum):
    """States of a constraint."""

    ON = "on"
    OFF = "off"


class RoleChoice(StrEnum):
    """Permissions of a client's key."""

    OBSERVE = "observe"
    OPERATE = "operate"
    SERVICE = "service"


class RestartChoice(StrEnum):
    """Policies for restarting a daemon of a group."""

    ON_FAILURE = "on-failure"
    NO = "no"


class FormulationChoice(StrEnum):
    """Formulations of the constrained dynamics."""

    PROJECTED = "projected"
    UDWADIA_KALABA = "udwadia_kalaba"
    LAGRANGE = "lagrange"
    PLAIN = "plain"
    SYMMETRIC = "symmetric"
    SCALED = "scaled"
    MINIMAL = "minimal"
    TAYLOR = "taylor"


class StabilisationChoice(StrEnum):
    """Methods that keep the constraints closed during a simulation."""

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
    """Whether the initial state is projected onto the closures."""

    ASSEMBLED = "assembled"
    AS_GIVEN = "as-given"


class PlaceChoice(StrEnum):
    """Instants of a step at which reactions are evaluated."""

    BEGIN = "begin"
    MIDDLE = "middle"
    END = "end"


class SchemaChoice(StrEnum):
    """Files that have a JSON schema."""

    MACHINE = "machine"
    FAULTS = "faults"
    CAMPAIGN = "campaign"
