"""Closed robots of our own, in the formats of other programs."""

import numpy as np

from linkwork.arrays import Floats


def numbers(values: Floats) -> str:
    """The text of an array."""
    return " ".join(f"{value:.12g}" for value in values)


def hexagon(radius_m: float, half_deg: float, turned_deg: float = 0.0) -> Floats:
    """Six corners (6 × 3) in pairs, each `half_deg` from the directions 0°, 120° and 240°."""
    angles = np.radians([turned_deg + 120 * k + side * half_deg for k in range(3) for side in (-1, 1)])
    return radius_m * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(6)])


STEWART_HEIGHT_M = 0.6


def stewart() -> str:
    """A Stewart platform in MJCF: six legs of two hinges and a slide are connected to a floating plate."""
    below, above = hexagon(0.5, 15.0), np.roll(hexagon(0.3, 15.0, 60.0), 1, axis=0)
    legs = connects = motors = ""
    for k, (foot, head) in enumerate(zip(below, above, strict=True)):
        way = head + np.array([0.0, 0.0, STEWART_HEIGHT_M]) - foot
        length = float(np.linalg.norm(way))
        x = np.cross([0.0, 0.0, 1.0], way)
        x /= np.linalg.norm(x)
        y = np.cross(way / length, x)
        legs += f"""<body name="tube_{k}" pos="{numbers(foot)}" xyaxes="{numbers(x)} {numbers(y)}">
          <joint name="tilt_{k}" axis="1 0 0"/><joint name="turn_{k}" axis="0 1 0"/>
          <inertial pos="0 0 0.15" mass="1" diaginertia="0.01 0.01 0.001"/>
          <body name="rod_{k}" pos="0 0 {length:.12g}">
            <joint name="leg_{k}" type="slide" axis="0 0 1" range="-0.15 0.15"/>
            <inertial pos="0 0 -0.15" mass="0.5" diaginertia="0.005 0.005 0.0005"/></body></body>"""
        connects += f'<connect name="ball_{k}" body1="rod_{k}" body2="plate" anchor="0 0 0"/>'
        motors += f'<motor name="motor_{k}" joint="leg_{k}" ctrlrange="-500 500" ctrllimited="true"/>'
    return f"""<mujoco model="stewart"><compiler angle="radian"/><worldbody>
      <body name="plate" pos="0 0 {STEWART_HEIGHT_M}"><freejoint name="float"/>
        <inertial pos="0 0 0.02" mass="5" diaginertia="0.1 0.1 0.2"/></body>
      {legs}</worldbody><equality>{connects}</equality><actuator>{motors}</actuator></mujoco>"""
