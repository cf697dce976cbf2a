/** The Policy file of schedulers before v1.23, in terms of plugins. */

import type { V1NodeSelectorRequirement, V1PreferredSchedulingTerm } from '#api/core/v1/types.gen.ts'
import { append } from '#base/append.ts'
import { defined } from '#base/defined.ts'
import type { ConfiguredExtender, ConfiguredPlugin, ConfiguredProfile, SchedulerConfiguration } from '#scheduler/config/configuration.ts'
import { defaultSchedulerName } from '#scheduler/config/configuration.ts'

type Predicate = {
  name: string
  argument?: { serviceAffinity?: { labels?: string[] }; labelsPresence?: { labels?: string[]; presence?: boolean } }
}
type Priority = {
  name: string
  weight?: number
  argument?: {
    serviceAntiAffinity?: { label?: string }
    labelPreference?: { label: string; presence?: boolean }
    requestedToCapacityRatioArguments?: {
      shape?: { utilization: number; score: number }[]
      resources?: { name: string; weight?: number }[]
    }
  }
}
type PolicyExtender = Omit<ConfiguredExtender, 'enableHTTPS' | 'httpTimeout'> & { enableHttps?: boolean; httpTimeout?: number | string }
export type Policy = {
  kind: 'Policy'
  predicates?: Predicate[]
  priorities?: Priority[]
  extenders?: PolicyExtender[]
  hardPodAffinitySymmetricWeight?: number
}

export const isPolicy = (document: object): document is Policy => (document as { kind?: unknown }).kind === 'Policy'

/** What filters a predicate stood for. */
const predicates: Record<string, readonly string[]> = {
  GeneralPredicates: ['NodeResourcesFit', 'NodeName', 'NodePorts', 'NodeAffinity'],
  PodFitsResources: ['NodeResourcesFit'],
  HostName: ['NodeName'],
  PodFitsHost: ['NodeName'],
  PodSelectorMatches: ['NodeAffinity'],
  PodFitsHostPorts: ['NodePorts'],
  PodFitsPorts: ['NodePorts'],
  MatchNodeSelector: ['NodeAffinity'],
  NoDiskConflict: ['VolumeRestrictions'],
  PodToleratesNodeTaints: ['TaintToleration'],
  CheckNodeUnschedulable: ['NodeUnschedulable'],
  CheckNodeCondition: ['NodeUnschedulable', 'TaintToleration'],
  CheckNodeMemoryPressure: ['TaintToleration'],
  CheckNodeDiskPressure: ['TaintToleration'],
  CheckNodePIDPressure: ['TaintToleration'],
  MaxEBSVolumeCount: ['NodeVolumeLimits'],
  MaxGCEPDVolumeCount: ['NodeVolumeLimits'],
  MaxAzureDiskVolumeCount: ['NodeVolumeLimits'],
  MaxCinderVolumeCount: ['NodeVolumeLimits'],
  MaxCSIVolumeCountPred: ['NodeVolumeLimits'],
  CheckVolumeBinding: ['VolumeBinding'],
  NoVolumeZoneConflict: ['VolumeZone'],
  NoVolumeNodeConflict: ['VolumeBinding'],
  EvenPodsSpread: ['PodTopologySpread'],
  MatchInterPodAffinity: ['InterPodAffinity'],
}
/** Whatever a policy says, these hold. */
const mandatory = ['TaintToleration', 'NodeUnschedulable']

const priorities: Record<string, string | undefined> = {
  LeastRequestedPriority: 'NodeResourcesFit',
  MostRequestedPriority: 'NodeResourcesFit',
  RequestedToCapacityRatioPriority: 'NodeResourcesFit',
  BalancedResourceAllocation: 'NodeResourcesBalancedAllocation',
  SelectorSpreadPriority: 'PodTopologySpread',
  ServiceSpreadingPriority: 'PodTopologySpread',
  EvenPodsSpreadPriority: 'PodTopologySpread',
  InterPodAffinityPriority: 'InterPodAffinity',
  NodeAffinityPriority: 'NodeAffinity',
  TaintTolerationPriority: 'TaintToleration',
  ImageLocalityPriority: 'ImageLocality',
  // Every node gets the same: that needs nobody. What a node wished not to have is no longer asked.
  EqualPriority: undefined,
  NodePreferAvoidPodsPriority: undefined,
  ResourceLimitsPriority: undefined,
}

const always = ['PrioritySort', 'SchedulingGates', 'DefaultPreemption', 'DynamicResources', 'DefaultBinder']

/** Throws when a policy asks for what no plugin does. */
export function translatedPolicy(policy: Policy): Pick<SchedulerConfiguration, 'profiles' | 'extenders'> {
  const filters = new Set(mandatory)
  const scores = new Map<string, number>()
  const config = new Map<string, Record<string, unknown>>()
  const required: V1NodeSelectorRequirement[] = []
  const preferred: V1PreferredSchedulingTerm[] = []
  const together: string[] = []
  for (const predicate of policy.predicates ?? Object.keys(predicates).map((name) => ({ name })))
    addPredicate(predicate, filters, required, together)
  if (together.length > 0) {
    filters.add('ServiceAffinity')
    config.set('ServiceAffinity', { affinityLabels: together })
  }
  for (const priority of policy.priorities ?? defaultPriorities) addPriority(priority, scores, config, preferred)
  if (required.length > 0) filters.add('NodeAffinity')
  if (preferred.length > 0) scores.set('NodeAffinity', Math.max(scores.get('NodeAffinity') ?? 0, 1))
  if (required.length > 0 || preferred.length > 0) {
    const requiredAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: required }] } }
    const preferredAffinity = { preferredDuringSchedulingIgnoredDuringExecution: preferred }
    config.set('NodeAffinity', {
      addedAffinity: { ...(required.length > 0 ? requiredAffinity : {}), ...(preferred.length > 0 ? preferredAffinity : {}) },
    })
  }
  if (policy.hardPodAffinitySymmetricWeight)
    config.set('InterPodAffinity', { hardPodAffinityWeight: policy.hardPodAffinitySymmetricWeight })
  return { profiles: [profileOf(filters, scores, config)], extenders: (policy.extenders ?? []).map(extenderOf) }
}

const defaultPriorities: Priority[] = [
  'LeastRequestedPriority',
  'BalancedResourceAllocation',
  'SelectorSpreadPriority',
  'InterPodAffinityPriority',
  'NodeAffinityPriority',
  'TaintTolerationPriority',
  'ImageLocalityPriority',
].map((name) => ({ name, weight: 1 }))

function addPredicate(
  { name, argument }: Predicate,
  filters: Set<string>,
  required: V1NodeSelectorRequirement[],
  together: string[],
): void {
  const { labelsPresence, serviceAffinity } = argument ?? {}
  if (labelsPresence !== undefined) {
    for (const key of labelsPresence.labels ?? []) required.push({ key, operator: labelsPresence.presence ? 'Exists' : 'DoesNotExist' })
    return
  }
  if (serviceAffinity !== undefined) {
    append(together, serviceAffinity.labels ?? [])
    return
  }
  const plugins = predicates[name]
  if (plugins === undefined) throw new Error(`policy: predicate "${name}" is not known`)
  for (const plugin of plugins) filters.add(plugin)
}

function addPriority(
  { name, weight = 1, argument }: Priority,
  scores: Map<string, number>,
  config: Map<string, Record<string, unknown>>,
  preferred: V1PreferredSchedulingTerm[],
): void {
  const { labelPreference, serviceAntiAffinity, requestedToCapacityRatioArguments: ratio } = argument ?? {}
  const add = (plugin: string) => scores.set(plugin, (scores.get(plugin) ?? 0) + weight)
  if (labelPreference !== undefined) {
    const operator = labelPreference.presence ? 'Exists' : 'DoesNotExist'
    preferred.push({ weight, preference: { matchExpressions: [{ key: labelPreference.label, operator }] } })
  } else if (serviceAntiAffinity !== undefined) {
    const defaultConstraints = [{ topologyKey: serviceAntiAffinity.label, maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' }]
    config.set('PodTopologySpread', { defaultingType: 'List', defaultConstraints })
    add('PodTopologySpread')
  } else if (ratio !== undefined) {
    const resources = ratio.resources ?? [{ name: 'cpu' }, { name: 'memory' }]
    config.set('NodeResourcesFit', {
      scoringStrategy: { type: 'RequestedToCapacityRatio', resources, requestedToCapacityRatio: { shape: ratio.shape } },
    })
    add('NodeResourcesFit')
  } else {
    if (!(name in priorities)) throw new Error(`policy: priority "${name}" is not known`)
    if (name === 'MostRequestedPriority') config.set('NodeResourcesFit', { scoringStrategy: { type: 'MostAllocated' } })
    const plugin = priorities[name]
    if (plugin !== undefined) add(plugin)
  }
}

/** Plugins both filter and score: those that were named for one of it keep quiet about the other. */
function profileOf(
  filters: ReadonlySet<string>,
  scores: ReadonlyMap<string, number>,
  config: ReadonlyMap<string, Record<string, unknown>>,
): ConfiguredProfile {
  const names = new Set([...always, ...filters, ...scores.keys()])
  const onlyScoring = [...scores.keys()].filter((name) => !filters.has(name)).map((name) => ({ name }))
  const onlyFiltering = [...filters].filter((name) => !scores.has(name)).map((name) => ({ name }))
  const enabled: ConfiguredPlugin[] = [...names].map((name) => ({ name, weight: scores.get(name) ?? 1 }))
  return {
    schedulerName: defaultSchedulerName,
    plugins: {
      multiPoint: { disabled: [{ name: '*' }], enabled },
      preFilter: { disabled: onlyScoring },
      filter: { disabled: onlyScoring },
      preScore: { disabled: onlyFiltering },
      score: { disabled: onlyFiltering },
    },
    pluginConfig: [...config].map(([name, args]) => ({ name, args })),
  }
}

function extenderOf({ enableHttps, httpTimeout, ...extender }: PolicyExtender): ConfiguredExtender {
  return {
    ...extender,
    ...defined({ enableHTTPS: enableHttps }),
    // Written in nanoseconds, as Go counts.
    ...defined({
      httpTimeout:
        httpTimeout === undefined ? undefined : typeof httpTimeout === 'number' ? `${Math.ceil(httpTimeout / 1e6)}ms` : httpTimeout,
    }),
  }
}
