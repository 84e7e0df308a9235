"""The figures and tables of the Skill Machines paper, made again, beside its claims."""

from skm_primitives.reproduction.reproduction import PARTS, ReproduceOptions, reproduce

__all__ = ["PARTS", "ReproduceOptions", "reproduce"]
