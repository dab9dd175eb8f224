"""Mass matrix, bias and poses by Pinocchio; runs in a child process (limited_child.py)."""

from typing import Any

import numpy as np

from linkwork.convert.robots.limited_child import WorkerProblem
from linkwork.multibody.tree.quaternions import to_matrix

_PLANAR = "JointModelPlanar"


def states(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return mass matrix, bias and poses of links at each of request["states"].

    The tree is that of the URDF in request["file"], or of its text, with a free joint request["base"] if it
    is given, and chains of joints in place of those in request["retyped"]; or of request["joints"] and
    request["links"]. A state gives q and v by joint, in the coordinates of the machine
    file, a quaternion as (w, x, y, z). `dofs` names the rows of the mass matrix: joint and degree of freedom.
    """
    import pinocchio

    if "file" in request:
        model, slots, links = _retyped(pinocchio, _of_urdf(pinocchio, request), request["retyped"])
    else:
        model, slots, links = _of_parts(pinocchio, request)
    model.gravity.linear = np.array(request["gravity"])
    data = model.createData()
    found = []
    for state in request["states"]:
        q, v = pinocchio.neutral(model), np.zeros(model.nv)
        turn, drift = np.eye(model.nv), np.zeros(model.nv)
        for slot in slots:
            slot(state, q, v, turn, drift)
        mass = pinocchio.crba(model, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T
        bias = pinocchio.nonLinearEffects(model, data, q, v) + mass @ drift
        pinocchio.framesForwardKinematics(model, data, q)
        found.append(
            {
                "dofs": [list(dof) for slot in slots for dof in slot.dofs],
                "mass": (turn.T @ mass @ turn).tolist(),
                "bias": (turn.T @ bias).tolist(),
                "springs": False,
                "bodies": {
                    name: [data.oMf[k].translation.tolist(), data.oMf[k].rotation.ravel().tolist()]
                    for name, k in links.items()
                },
            }
        )
    return found


class _Slot:
    """One joint of the model: it sets its coordinates, and knows its rows."""

    def __init__(self, joint: Any, name: str, first: int) -> None:
        self._at, self._dof, self._nq, self._nv = joint.idx_q, joint.idx_v, joint.nq, joint.nv
        self._name, self._first = name, first
        self.dofs = [(name, first + k) for k in range(joint.nv)]

    def __call__(self, state: Any, q: Any, v: Any, turn: Any, drift: Any) -> None:
        own_q, own_v = np.array(state["q"][self._name]), np.array(state["v"][self._name])
        at, dof = self._at, self._dof
        if (self._nq, self._nv) == (1, 1):
            q[at], v[dof] = own_q[self._first], own_v[self._first]
        elif (self._nq, self._nv) == (2, 1):
            q[at : at + 2] = np.cos(own_q[self._first]), np.sin(own_q[self._first])
            v[dof] = own_v[self._first]
        elif (self._nq, self._nv) == (4, 3):
            q[at : at + 4] = [*own_q[1:], own_q[0]]
            v[dof : dof + 3] = own_v
        else:
            self._set_free(own_q, own_v, q, v, turn, drift)

    def _set_free(self, own_q: Any, own_v: Any, q: Any, v: Any, turn: Any, drift: Any) -> None:
        """Pinocchio's velocity of a free joint is in the child's axes, the machine's in the parent's."""
        at, dof = self._at, self._dof
        q[at : at + 7] = [*own_q[:3], *own_q[4:], own_q[3]]
        rotation = to_matrix(own_q[3:])
        v[dof : dof + 3] = rotation.T @ own_v[:3]
        v[dof + 3 : dof + 6] = own_v[3:]
        turn[dof : dof + 3, dof : dof + 3] = rotation.T
        drift[dof : dof + 3] = -np.cross(own_v[3:], v[dof : dof + 3])


def _of_urdf(pinocchio: Any, request: dict[str, Any]) -> Any:
    build = pinocchio.buildModelFromXML if request["text"] else pinocchio.buildModelFromUrdf
    root = [pinocchio.JointModelFreeFlyer(), request["base"]] if request.get("base") else []
    try:
        model = build(request["text"] or request["file"], *root)
    except (ValueError, RuntimeError) as error:
        raise WorkerProblem(f"Pinocchio: {' '.join(str(error).split())[:300]}") from None
    if any(_PLANAR in joint.shortname() for joint in model.joints):
        raise WorkerProblem("planar joints are not compared")
    return model


def _retyped(pinocchio: Any, old: Any, chains: dict[str, Any]) -> tuple[Any, list[Any], dict[str, int]]:
    """Return a copy of a model with chains of joints in place of some of its joints."""
    model, seats = pinocchio.Model(), {0: (0, pinocchio.SE3.Identity())}
    slots: list[Any] = []
    for k in range(1, old.njoints):
        name, (parent, seat) = old.names[k], seats[old.parents[k]]
        place = seat * old.jointPlacements[k]
        if name in chains:
            seats[k] = _add_chain(pinocchio, model, slots, (parent, place), name, chains[name])
        else:
            number = model.addJoint(parent, old.joints[k], place, name)
            slots.append((number, name, 0))
            seats[k] = number, pinocchio.SE3.Identity()
        if seats[k][0]:
            model.appendBodyToJoint(seats[k][0], old.inertias[k], seats[k][1])
    links = {}
    for frame in old.frames:
        if frame.type == pinocchio.BODY:
            number, seat = seats[frame.parentJoint]
            made = pinocchio.Frame(frame.name, number, seat * frame.placement, frame.type)
            links[frame.name] = model.addFrame(made)
    return model, [_Slot(model.joints[k], name, dof) for k, name, dof in slots], links


def _add_chain(
    pinocchio: Any, model: Any, slots: list[Any], seat: tuple[int, Any], name: str, chain: Any
) -> tuple[int, Any]:
    """Add elementary joints at a place on a joint; return the seat of the link behind them."""
    parent, place = seat
    for number, (kind, axis, pitch, dof) in enumerate(chain):
        made = _joint_model(pinocchio, kind, np.array(axis), pitch)
        parent = model.addJoint(parent, made, place, f"{name}.{number}")
        slots.append((parent, name, dof))
        place = pinocchio.SE3.Identity()
    return parent, place


def _of_parts(pinocchio: Any, request: dict[str, Any]) -> tuple[Any, list[Any], dict[str, int]]:
    model = pinocchio.Model()
    seats: dict[str, tuple[int, Any]] = {request["root"]: (0, pinocchio.SE3.Identity())}
    slots: list[Any] = []
    for joint in request["joints"]:  # parents first
        parent, seat = seats[joint["parent"]]
        place = seat * pinocchio.SE3(np.array(joint["rotation"]), np.array(joint["at"]))
        seats[joint["child"]] = _add_chain(
            pinocchio, model, slots, (parent, place), joint["name"], joint["chain"]
        )
    links = {}
    for name, (mass, com, inertia) in request["links"].items():
        number, place = seats[name]
        if number:
            body = pinocchio.Inertia(mass, np.array(com), np.array(inertia))
            model.appendBodyToJoint(number, body, place)
        links[name] = model.addFrame(pinocchio.Frame(name, number, place, pinocchio.BODY))
    return model, [_Slot(model.joints[k], name, dof) for k, name, dof in slots], links


def _joint_model(pinocchio: Any, kind: str, axis: Any, pitch: float) -> Any:
    if kind == "ball":
        return pinocchio.JointModelSpherical()
    if kind == "free":
        return pinocchio.JointModelFreeFlyer()
    if kind == "slide":
        return pinocchio.JointModelPrismaticUnaligned(axis)
    if pitch:
        return pinocchio.JointModelHelicalUnaligned(axis, pitch)
    return pinocchio.JointModelRevoluteUnaligned(axis)
