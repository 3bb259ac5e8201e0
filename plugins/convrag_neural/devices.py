"""Where a model runs: the names of devices, and which of them this machine has."""

import re

from convrag import ConfigError, ConvragError

_NAME = re.compile(r"auto|cpu|mps|(cuda|xpu)(:\d+)?")


def check_device_name(group: str, device: str) -> None:
    """Raise ConfigError for a name that is no device's, whatever machine it is meant for."""
    if not _NAME.fullmatch(device):
        raise ConfigError(
            f"{group}.device={device!r} is no device: choose auto, cpu, cuda (a GPU of Nvidia, or of AMD with ROCm), "
            "cuda:1 (the second one), mps (Apple) or xpu (Intel)"
        )


def find_device_problem(device: str) -> str:
    """Say why a model cannot run on a device of this machine; empty where it can. `auto` and `cpu` always can."""
    if device in ("auto", "cpu"):
        return ""
    import torch

    kind, _, number = device.partition(":")
    count = _count_devices(kind)
    if not count:
        return f"device={device}: torch {torch.__version__} finds no {kind} device on this machine"
    if int(number or 0) >= count:
        names = ", ".join(f"{kind}:{each}" for each in range(count))
        return f"device={device}: torch {torch.__version__} finds only {names} on this machine"
    return ""


def find_device(device: str) -> str:
    """Return the device to run on, as torch names it; for `auto` the fastest that this machine has.

    Raises:
        ConvragError: the machine has no such device.
    """
    if problem := find_device_problem(device):
        raise ConvragError(f"{problem}; device=auto takes the fastest that there is")
    if device != "auto":
        return device
    return next((kind for kind in ("cuda", "mps", "xpu") if _count_devices(kind)), "cpu")


def _count_devices(kind: str) -> int:
    import torch

    if kind == "mps":
        return int(torch.backends.mps.is_available())
    module = getattr(torch, kind)
    return int(module.device_count()) if module.is_available() else 0
