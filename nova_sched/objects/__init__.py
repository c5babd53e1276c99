"""Versioned objects of the ``nova`` namespace, as sent over RPC.

One module per noun.  ``objects.arguments`` converts RPC arguments into a
checked RequestSpec; ``objects.selection`` builds replies.
"""

from nova_sched.objects import arguments
from nova_sched.objects import selection
from nova_sched.objects.aggregate import Aggregate
from nova_sched.objects.aggregate import AggregateList
from nova_sched.objects.aggregate import aggregates_from_wire
from nova_sched.objects.cell_mapping import CellMapping
from nova_sched.objects.compute_node import ComputeNode
from nova_sched.objects.compute_node import ComputeNodeList
from nova_sched.objects.flavor import Flavor
from nova_sched.objects.image_meta import ImageMeta
from nova_sched.objects.image_meta import ImageMetaProps
from nova_sched.objects.instance import Instance
from nova_sched.objects.instance import InstanceList
from nova_sched.objects.instance_group import InstanceGroup
from nova_sched.objects.monitor_metric import MonitorMetric
from nova_sched.objects.monitor_metric import MonitorMetricList
from nova_sched.objects.network import NetworkMetadata
from nova_sched.objects.network import NetworkRequest
from nova_sched.objects.network import NetworkRequestList
from nova_sched.objects.network import SecurityGroup
from nova_sched.objects.network import SecurityGroupList
from nova_sched.objects.numa import InstanceNUMACell
from nova_sched.objects.numa import InstanceNUMATopology
from nova_sched.objects.numa import NUMATopologyLimits
from nova_sched.objects.numa import VirtCPUTopology
from nova_sched.objects.pci import InstancePCIRequest
from nova_sched.objects.pci import InstancePCIRequests
from nova_sched.objects.request_spec import Destination
from nova_sched.objects.request_spec import RequestGroup
from nova_sched.objects.request_spec import RequestLevelParams
from nova_sched.objects.request_spec import RequestSpec
from nova_sched.objects.request_spec import SchedulerLimits
from nova_sched.objects.request_spec import SchedulerRetries
from nova_sched.objects.selection import Selection
from nova_sched.objects.service import Service
from nova_sched.objects.service import ServiceList
