"""Is this graph any good? A look at graph, labels and perhaps inputs, before anything is trained."""

from ngm.diagnosis.diagnose import diagnose
from ngm.diagnosis.part_graph import diagnose_parts
from ngm.diagnosis.records import Diagnosis

__all__ = ["Diagnosis", "diagnose", "diagnose_parts"]
