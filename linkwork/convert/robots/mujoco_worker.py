"""MJCF through MuJoCo's own compiler; runs in a child process (limited_child.py).

Lengths in m, angles in rad, quaternions (w, x, y, z) and frames of bodies, as MuJoCo has them.
"""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.convert.robots.limited_child import WorkerProblem
from linkwork.multibody.tree.quaternions import to_matrix

_SOFT_S = 0.05
"""Response time of a constraint, beyond which it is soft; or its stiffness is below 1000 / s²."""


def compiled(request: dict[str, Any]) -> dict[str, Any]:
    """Return bodies, joints, equalities, actuators, shapes and the first key frame of request["file"]."""
    import mujoco

    spec, model, meshes, contacts = _model(request["file"])
    off = _switch_off(mujoco, model)
    joint_kind, equality = mujoco.mjtJoint, mujoco.mjtEq
    joints_driven = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    names = _Names(model)
    return {
        "name": spec.modelname,
        "gravity": model.opt.gravity.tolist(),
        "bodies": [
            {
                "name": names.body[i],
                "parent": int(model.body_parentid[i]),
                "at": model.body_pos[i].tolist(),
                "quat": model.body_quat[i].tolist(),
                "mass": float(model.body_mass[i]),
                "com": model.body_ipos[i].tolist(),
                "principal_quat": model.body_iquat[i].tolist(),
                "moments": model.body_inertia[i].tolist(),
                "gravity_compensation": float(model.body_gravcomp[i]),
                "moved": int(model.body_mocapid[i]) >= 0,
                "joints": [
                    _joint(model, k, names.joint[k], joint_kind(int(model.jnt_type[k])).name)
                    for k in range(model.body_jntadr[i], model.body_jntadr[i] + model.body_jntnum[i])
                ],
            }
            for i in range(model.nbody)
        ],
        "equalities": [
            {
                "name": model.equality(i).name or f"equality_{i + 1}",
                "type": equality(int(model.eq_type[i])).name.removeprefix("mjEQ_").lower(),
                "on_sites": int(model.eq_objtype[i]) == int(mujoco.mjtObj.mjOBJ_SITE),
                "ends": [int(model.eq_obj1id[i]), int(model.eq_obj2id[i])],
                "data": model.eq_data[i].tolist(),
                "active": bool(model.eq_active0[i]),
                "soft": not -model.eq_solref[i, 0] > 1e3 and not 0.0 < model.eq_solref[i, 0] < _SOFT_S,
            }
            for i in range(model.neq)
        ],
        "sites": [
            [int(model.site_bodyid[i]), model.site_pos[i].tolist(), model.site_quat[i].tolist()]
            for i in range(model.nsite)
        ],
        "joint_names": names.joint,
        "actuators": [
            {
                "name": model.actuator(i).name or f"actuator_{i + 1}",
                "joint": names.joint[model.actuator_trnid[i, 0]]
                if int(model.actuator_trntype[i]) in joints_driven
                else None,
                "tendon": int(model.actuator_trnid[i, 0])
                if int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_TENDON)
                else None,
                "effort": _effort(mujoco, model, i),
                "controlled": not _is_direct(mujoco, model, i),
                "rotor": [
                    float(model.actuator_gear[i, 0]) ** 2 * _largest(model, i, f"actuator_{name}")
                    for name in ("armature", "damping")
                ],
            }
            for i in range(len(model.actuator_trntype))
            if not off("ACTUATION") and not model.opt.disableactuator >> model.actuator_group[i] & 1
        ],
        "start": _start(mujoco, model, names),
        "tendons": [_tendon(mujoco, model, i, names) for i in range(model.ntendon)],
        "shapes": _shapes(mujoco, model, meshes),
        "fluid": bool(model.opt.density or model.opt.viscosity),
        "contacts": 0 if off("CONTACT", "CONSTRAINT") else contacts,
        "unactuated": bool(off("ACTUATION") or model.opt.disableactuator),
        "flexes": int(model.nflex),
    }


def _switch_off(mujoco: Any, model: Any) -> Callable[..., bool]:
    """Remove what <flag …="disable"/> switches off; return whether any of given flags is set."""

    def off(*names: str) -> bool:
        bits = [int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", 0)) for name in names]
        return any(model.opt.disableflags & bit for bit in bits)

    no_spring, no_damper = off("SPRING", "PASSIVE"), off("DAMPER", "PASSIVE")
    cleared = [
        (off("GRAVITY"), ("gravity",)),
        (no_spring, ("jnt_stiffness", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_stiffnesspoly")),
        (no_damper, ("dof_damping", "dof_dampingpoly", "tendon_damping", "tendon_dampingpoly",
                     "actuator_damping", "actuator_dampingpoly")),
        (no_spring and no_damper, ("body_gravcomp", "density", "viscosity")),
        (off("FRICTIONLOSS", "CONSTRAINT"), ("dof_frictionloss", "tendon_frictionloss")),
        (off("LIMIT", "CONSTRAINT"), ("jnt_limited", "tendon_limited")),
        (off("EQUALITY", "CONSTRAINT"), ("eq_active0",)),
    ]  # fmt: skip
    _clear(model, *(name for is_off, names in cleared if is_off for name in names))
    return off


def _clear(model: Any, *names: str) -> None:
    """Set values of a model or of its options to zero; those of other versions of MuJoCo are passed over."""
    for name in names:
        if hasattr(model, name):
            getattr(model, name)[:] = 0
        elif name == "gravity":
            model.opt.gravity[:] = 0.0
        elif hasattr(model.opt, name):
            setattr(model.opt, name, 0.0)


def _largest(model: Any, i: int, *names: str) -> float:
    """Return the largest number of values of an element, which older versions of MuJoCo may not have."""
    found = [np.max(np.abs(getattr(model, name)[i])) for name in names if hasattr(model, name)]
    return float(max(found, default=0.0))


class _Names:
    """Names of bodies and joints; numbers where the file gives none."""

    def __init__(self, model: Any) -> None:
        self.body = _distinct([model.body(i).name or f"body_{i}" for i in range(model.nbody)])
        self.joint = _distinct(
            [model.joint(k).name or f"{self.body[model.jnt_bodyid[k]]}_joint" for k in range(model.njnt)]
        )


def _distinct(names: list[str]) -> list[str]:
    used: set[str] = set()
    found = []
    for name in names:
        new, number = name, 1
        while new in used:
            number += 1
            new = f"{name}_{number}"
        used.add(new)
        found.append(new)
    return found


def _model(file: str) -> tuple[Any, Any, dict[str, dict[str, Any]], int]:
    """Return specification and model, without meshes that no inertia needs, meshes by names of geoms, and the
    number of geoms that collide.
    """
    import mujoco

    spec = None
    try:
        spec = mujoco.MjSpec.from_file(file)
        contacts = sum(bool(geom.contype or geom.conaffinity) for geom in spec.geoms)
        meshes = _strip(spec)
        spec.compiler.LRopt.mode = 0  # the lengths of tendons over all poses, which take long, are not read
        return spec, spec.compile(), meshes, contacts
    except (ValueError, RuntimeError) as error:
        missing = [] if spec is None else _missing_meshes(spec, Path(file).parent)
        if missing:
            listed = ", ".join(missing)
            wrong = f"files of meshes are missing, from which masses and inertias follow: {listed}"
            raise WorkerProblem(f"{wrong}; add them, or give the bodies <inertial>", 0) from None
        text = " ".join(str(error).split())
        line = re.search(r"line (\d+)", text)
        raise WorkerProblem(f"MuJoCo: {text[:500]}", int(line[1]) if line else 0) from None


def _missing_meshes(spec: Any, folder: Path) -> list[str]:
    files = [each.file for each in spec.meshes if each.file]
    return [file for file in files if not (folder / spec.meshdir / file).is_file()]


def _strip(spec: Any) -> dict[str, dict[str, Any]]:
    """Remove what has no mass, so that its files need not be there.

    A mesh that shows a body becomes a small sphere at its place; return these meshes by names of the geoms.
    """
    import mujoco

    for group in ("sensors", "skins", "excludes", "pairs", "lights", "cameras"):
        for each in list(getattr(spec, group)):
            spec.delete(each)
    for each in [*spec.sites, *spec.tendons]:
        each.material = ""
    from_geoms = int(spec.compiler.inertiafromgeom) == int(mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE)
    colors = {each.name: each.rgba for each in spec.materials}
    files = {each.name: each for each in spec.meshes}
    kind, shown = mujoco.mjtGeom, dict[str, dict[str, Any]]()
    wrapping = len(spec.tendons) > 0
    for body in spec.bodies:
        ground = body.name == "world"
        known = ground or (body.explicitinertial and not from_geoms)
        for geom in list(body.geoms):
            if geom.material in colors and _is_default(geom.rgba):
                geom.rgba = colors[geom.material]
            geom.material = ""
            heavy = geom.meshname != "" or geom.type in (kind.mjGEOM_HFIELD, kind.mjGEOM_SDF)
            mesh = files.get(geom.meshname) if geom.type == kind.mjGEOM_MESH else None
            if mesh is not None and not ground and _is_shown(geom.group, geom.rgba):
                geom.name = geom.name or f"mesh {len(shown)} of {body.name}"
                shown[geom.name] = {
                    "file": mesh.file,
                    "folder": spec.meshdir,
                    "scale": mesh.scale.tolist(),
                    "moved": bool(np.any(mesh.refpos) or abs(mesh.refquat[0]) != 1.0),
                }
                if known:
                    geom.type, geom.meshname, geom.size, geom.mass = kind.mjGEOM_SPHERE, "", [1e-3] * 3, 0.0
            elif known and (heavy or (not wrapping and (ground or not _is_shown(geom.group, geom.rgba)))):
                spec.delete(geom)
    used = {geom.meshname for body in spec.bodies for geom in body.geoms}
    for mesh in list(spec.meshes):
        if mesh.name not in used:
            spec.delete(mesh)
    for group in ("materials", "textures"):
        for each in list(getattr(spec, group)):
            spec.delete(each)
    return shown


_DEFAULT_COLOR = (0.5, 0.5, 0.5, 1.0)
_SHOWN_GROUPS = 3
"""Groups of geoms, from 0 on, that MuJoCo's viewer shows; those of collisions are beyond, by convention."""


def _is_default(rgba: Any) -> bool:
    return bool(np.allclose(rgba, _DEFAULT_COLOR))


def _is_shown(group: int, rgba: Any) -> bool:
    return bool(group < _SHOWN_GROUPS and rgba[3] > 0.0)


def _shapes(mujoco: Any, model: Any, meshes: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return shapes with their places on bodies; sizes as MuJoCo's, halves of lengths."""
    found = []
    for i in range(model.ngeom):
        body, name = int(model.geom_bodyid[i]), model.geom(i).name
        if body == 0 or not _is_shown(int(model.geom_group[i]), model.geom_rgba[i]):
            continue
        at, turn = model.geom_pos[i], to_matrix(model.geom_quat[i])
        number = int(model.geom_dataid[i])
        if name in meshes and number >= 0:  # the compiler moved the mesh into its principal axes
            turn = turn @ to_matrix(model.mesh_quat[number]).T
            at = at - turn @ model.mesh_pos[number]
        found.append(
            {
                "body": body,
                "kind": mujoco.mjtGeom(int(model.geom_type[i])).name.removeprefix("mjGEOM_").lower(),
                "size": model.geom_size[i].tolist(),
                "at": at.tolist(),
                "axes": turn.tolist(),
                "rgba": None if _is_default(model.geom_rgba[i]) else model.geom_rgba[i].tolist(),
                "mesh": meshes.get(name),
            }
        )
    return found


def _joint(model: Any, k: int, name: str, kind: str) -> dict[str, Any]:
    dof, at = int(model.jnt_dofadr[k]), int(model.jnt_qposadr[k])
    scalar = kind in ("mjJNT_HINGE", "mjJNT_SLIDE")
    zero = float(model.qpos0[at]) if scalar else 0.0
    return {
        "name": name,
        "type": kind.removeprefix("mjJNT_").lower(),
        "at": model.jnt_pos[k].tolist(),
        "axis": model.jnt_axis[k].tolist(),
        "limits": (model.jnt_range[k] - zero).tolist() if scalar and model.jnt_limited[k] else None,
        "limited": bool(model.jnt_limited[k]),
        "stiffness": float(model.jnt_stiffness[k]),
        "rest": float(model.qpos_spring[at]) - zero if scalar else 0.0,
        "nonlinear": _largest(model, k, "jnt_stiffnesspoly", "jnt_springyield")
        + _largest(model, dof, "dof_dampingpoly"),
        "damping": float(model.dof_damping[dof]),
        "armature": float(model.dof_armature[dof]),
        "friction": float(model.dof_frictionloss[dof]),
        "effort": float(np.abs(model.jnt_actfrcrange[k]).max()) if model.jnt_actfrclimited[k] else None,
    }


def _tendon(mujoco: Any, model: Any, i: int, names: _Names) -> dict[str, Any]:
    """Return a tendon: its joints with factors (fixed), or the sites that it joins straight."""
    places = range(model.tendon_adr[i], model.tendon_adr[i] + model.tendon_num[i])
    kinds = {int(model.wrap_type[k]) for k in places}
    of_joints, of_sites = int(mujoco.mjtWrap.mjWRAP_JOINT), int(mujoco.mjtWrap.mjWRAP_SITE)
    joints = [int(model.wrap_objid[k]) for k in places] if kinds == {of_joints} else []
    straight = kinds == {of_sites} and len(places) == 2
    return {
        "name": model.tendon(i).name or f"tendon_{i + 1}",
        "joints": {names.joint[j]: float(model.wrap_prm[k]) for j, k in zip(joints, places, strict=False)},
        "sites": [int(model.wrap_objid[k]) for k in places] if straight else [],
        "at_zero": sum(
            float(model.wrap_prm[k]) * float(model.qpos0[model.jnt_qposadr[j]])
            for j, k in zip(joints, places, strict=False)
        ),
        "stiffness": float(model.tendon_stiffness[i]),
        "damping": float(model.tendon_damping[i]),
        "friction": float(model.tendon_frictionloss[i]),
        "rest": model.tendon_lengthspring[i].tolist(),
        "limited": bool(model.tendon_limited[i]),
        "armature": _largest(model, i, "tendon_armature"),
        "nonlinear": _largest(model, i, "tendon_stiffnesspoly", "tendon_dampingpoly", "tendon_springyield"),
    }


def is_taken(tendon: dict[str, Any]) -> bool:
    """Whether the importer takes over the spring and damper of a tendon."""
    least, most = tendon["rest"]
    is_slack = least != most and tendon["stiffness"]
    return not is_slack and (len(tendon["joints"]) == 1 or bool(tendon["sites"]))


def _without_left_out(mujoco: Any, source: Any, names: _Names, gravity: list[float]) -> Any:
    """Return a copy of the model without what the importer leaves out, and with its gravity (3, m/s²)."""
    model = copy.copy(source)
    scalar = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    model.jnt_stiffness[~np.isin(model.jnt_type, scalar)] = 0.0
    free = model.jnt_type[model.dof_jntid] == int(mujoco.mjtJoint.mjJNT_FREE)
    model.dof_damping[free] = model.dof_armature[free] = 0.0
    for i in range(model.ntendon):
        if not is_taken(_tendon(mujoco, model, i, names)):
            model.tendon_stiffness[i] = model.tendon_damping[i] = 0.0
    driving = [int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)]
    if hasattr(model, "actuator_armature"):
        others = ~np.isin(model.actuator_trntype, driving)
        model.actuator_armature[others] = model.actuator_damping[others] = 0.0
    _clear(
        model, "body_gravcomp", "density", "viscosity", "jnt_springyield", "jnt_stiffnesspoly",
        "dof_dampingpoly", "tendon_stiffnesspoly", "tendon_dampingpoly", "tendon_springyield",
        "tendon_armature", "actuator_dampingpoly",
    )  # fmt: skip
    model.opt.gravity[:] = gravity
    return model


def _is_direct(mujoco: Any, model: Any, i: int) -> bool:
    """Whether the force of an actuator is its input times a factor."""
    return (
        int(model.actuator_biastype[i]) == int(mujoco.mjtBias.mjBIAS_NONE)
        and int(model.actuator_gaintype[i]) == int(mujoco.mjtGain.mjGAIN_FIXED)
        and int(model.actuator_dyntype[i]) == int(mujoco.mjtDyn.mjDYN_NONE)
    )


def _effort(mujoco: Any, model: Any, i: int) -> float | None:
    """Return the largest effort at the joint (N m or N) that the ranges of an actuator allow."""
    gear = abs(float(model.actuator_gear[i, 0]))
    found = []
    if model.actuator_forcelimited[i]:
        found.append(gear * float(np.abs(model.actuator_forcerange[i]).max()))
    plain = int(model.actuator_biastype[i]) == int(mujoco.mjtBias.mjBIAS_NONE)
    if (
        plain
        and int(model.actuator_gaintype[i]) == int(mujoco.mjtGain.mjGAIN_FIXED)
        and model.actuator_ctrllimited[i]
    ):
        gain = abs(float(model.actuator_gainprm[i, 0]))
        found.append(gear * gain * float(np.abs(model.actuator_ctrlrange[i]).max()))
    return min(found, default=None)


def _start(mujoco: Any, model: Any, names: _Names) -> dict[str, float]:
    """Return hinges and slides at the first key frame, less their values at the reference pose."""
    if not model.nkey:
        return {}
    scalar = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    places = {
        names.joint[k]: int(model.jnt_qposadr[k])
        for k in range(model.njnt)
        if int(model.jnt_type[k]) in scalar
    }
    return {name: float(model.key_qpos[0, at] - model.qpos0[at]) for name, at in places.items()}


def states(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return mass matrix, bias with springs and dampers, and poses of bodies at each of request["states"].

    They are those of the file without what the importer leaves out, under request["gravity"];
    `whole_mass` and `whole_bias` are those of the whole file.

    A state gives q and v by joint, in the coordinates of the machine file: a ball's q is its quaternion
    (w, x, y, z), that of a free joint the translation and the quaternion. `dofs` names the rows of the
    mass matrix: joint and degree of freedom in it.
    """
    import mujoco

    _, source, _, _ = _model(request["file"])
    names = _Names(source)
    model = _without_left_out(mujoco, source, names, request["gravity"])
    data = mujoco.MjData(source)
    kinds = [mujoco.mjtJoint(int(kind)).name for kind in model.jnt_type]
    turn = np.eye(model.nv)
    for k, kind in enumerate(kinds):
        if kind == "mjJNT_FREE":
            at, dof = int(model.jnt_qposadr[k]), int(model.jnt_dofadr[k])
            turn[dof : dof + 3, dof : dof + 3] = to_matrix(model.qpos0[at + 3 : at + 7])
    found = []
    for state in request["states"]:
        for k, kind in enumerate(kinds):
            at, dof = int(model.jnt_qposadr[k]), int(model.jnt_dofadr[k])
            q, v = (np.array(state[key][names.joint[k]]) for key in ("q", "v"))
            if kind == "mjJNT_FREE":
                zero = model.qpos0[at : at + 7]
                data.qpos[at : at + 3] = zero[:3] + to_matrix(zero[3:]) @ q[:3]
                mujoco.mju_mulQuat(data.qpos[at + 3 : at + 7], zero[3:].copy(), q[3:])
            else:
                data.qpos[at : at + len(q)] = q if kind == "mjJNT_BALL" else q + model.qpos0[at]
            data.qvel[dof : dof + len(v)] = v
        data.qvel[:] = turn @ data.qvel
        whole_mass, whole_bias = _terms(mujoco, source, data, turn)
        mass, bias = _terms(mujoco, model, data, turn)
        found.append(
            {
                "whole_mass": whole_mass,
                "whole_bias": whole_bias,
                "dofs": [
                    [names.joint[k], d - int(model.jnt_dofadr[k])]
                    for d, k in enumerate(model.dof_jntid.tolist())
                ],
                "mass": mass,
                "bias": bias,
                "springs": True,
                "bodies": {
                    name: [data.xpos[i].tolist(), data.xmat[i].tolist()] for i, name in enumerate(names.body)
                },
            }
        )
    return found


def _terms(mujoco: Any, model: Any, data: Any, turn: Any) -> tuple[list[list[float]], list[float]]:
    """Return mass matrix and bias with all passive forces, in velocities that `turn` (nv × nv) gives."""
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    _full_mass(mujoco, model, data, mass)
    return (turn.T @ mass @ turn).tolist(), (turn.T @ (data.qfrc_bias - data.qfrc_passive)).tolist()


def _full_mass(mujoco: Any, model: Any, data: Any, mass: Any) -> None:
    try:
        mujoco.mj_fullM(model, mass, data.qM)
    except (AttributeError, TypeError):
        mujoco.mj_fullM(model, data, mass)
