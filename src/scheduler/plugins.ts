/** Every scheduler plugin, in the order in which they are asked; a profile enables them unless it says otherwise. */
import type { AnyPlugin } from '#scheduler/framework/plugin.ts'
import type { PluginHandle } from '#scheduler/framework/plugin-handle.ts'
import { defaultBinder } from '#scheduler/plugins/default-binder.ts'
import { defaultPreemption } from '#scheduler/plugins/default-preemption.ts'
import { dynamicResources } from '#scheduler/plugins/dynamic-resources.ts'
import { imageLocality } from '#scheduler/plugins/image-locality.ts'
import { interPodAffinity } from '#scheduler/plugins/inter-pod-affinity.ts'
import { nodeAffinity } from '#scheduler/plugins/node-affinity.ts'
import { nodeDeclaredFeatures } from '#scheduler/plugins/node-declared-features.ts'
import { nodeName } from '#scheduler/plugins/node-name.ts'
import { nodePorts } from '#scheduler/plugins/node-ports.ts'
import { nodeResourcesBalancedAllocation } from '#scheduler/plugins/node-resources-balanced-allocation.ts'
import { nodeResourcesFit } from '#scheduler/plugins/node-resources-fit.ts'
import { nodeUnschedulable } from '#scheduler/plugins/node-unschedulable.ts'
import { nodeVolumeLimits } from '#scheduler/plugins/node-volume-limits.ts'
import { podTopologySpread } from '#scheduler/plugins/pod-topology-spread.ts'
import { prioritySort } from '#scheduler/plugins/priority-sort.ts'
import { schedulingGates } from '#scheduler/plugins/scheduling-gates.ts'
import { serviceAffinity } from '#scheduler/plugins/service-affinity.ts'
import { taintToleration } from '#scheduler/plugins/taint-toleration.ts'
import { volumeBinding } from '#scheduler/plugins/volume-binding.ts'
import { volumeRestrictions } from '#scheduler/plugins/volume-restrictions.ts'
import { volumeZone } from '#scheduler/plugins/volume-zone.ts'

/** The arguments come from a profile's `pluginConfig`. */
export type PluginEntry = {
  readonly name: string
  readonly weight?: number
  /** Takes part only where a configuration names it. */
  readonly isOnDemand?: true
  /** Without this feature gate likewise. */
  readonly gate?: string
  make(args: Record<string, unknown>, handle: PluginHandle): AnyPlugin
}

export const schedulerPlugins: readonly PluginEntry[] = [
  { name: 'SchedulingGates', make: () => schedulingGates },
  { name: 'PrioritySort', make: () => prioritySort },
  { name: 'NodeUnschedulable', make: () => nodeUnschedulable },
  { name: 'NodeName', make: () => nodeName },
  { name: 'TaintToleration', weight: 3, make: () => taintToleration },
  { name: 'NodeAffinity', weight: 2, make: (args) => nodeAffinity(args) },
  { name: 'NodePorts', make: () => nodePorts },
  { name: 'NodeResourcesFit', weight: 1, make: (args) => nodeResourcesFit(args) },
  { name: 'VolumeRestrictions', make: (_, handle) => volumeRestrictions(handle) },
  { name: 'NodeVolumeLimits', make: (_, handle) => nodeVolumeLimits(handle) },
  { name: 'VolumeBinding', make: (args, handle) => volumeBinding(args, handle) },
  { name: 'VolumeZone', make: (_, handle) => volumeZone(handle) },
  { name: 'PodTopologySpread', weight: 2, make: (args, handle) => podTopologySpread(args, handle) },
  { name: 'InterPodAffinity', weight: 2, make: (args, handle) => interPodAffinity(args, handle) },
  { name: 'DynamicResources', weight: 2, make: (args, handle) => dynamicResources(args, handle) },
  { name: 'DefaultPreemption', make: (args, handle) => defaultPreemption(args, handle) },
  { name: 'NodeResourcesBalancedAllocation', weight: 1, make: (args) => nodeResourcesBalancedAllocation(args) },
  { name: 'ImageLocality', weight: 1, make: (_, handle) => imageLocality(handle) },
  { name: 'DefaultBinder', make: (_, handle) => defaultBinder(handle) },
  { name: 'NodeDeclaredFeatures', gate: 'NodeDeclaredFeatures', make: () => nodeDeclaredFeatures },
  { name: 'ServiceAffinity', isOnDemand: true, make: (args, handle) => serviceAffinity(args, handle) },
]
