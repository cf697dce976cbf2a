import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { definePlugin, type Namespaces, type PluginHandle } from '#controllers/descheduler/plugin.ts'
import { evictFromNodes, sumOf, type UsedNode } from '#controllers/descheduler/plugins/evict-from-nodes.ts'
import {
  type Amounts,
  cappedCapacity,
  measuredUsage,
  type Percentages,
  percentagesOf,
  requestedUsage,
  type UsageSource,
} from '#controllers/descheduler/usage.ts'

type LowArgs = {
  useDeviationThresholds?: boolean
  thresholds?: Percentages
  targetThresholds?: Percentages
  numberOfNodes?: number
  metricsUtilization?: { metricsServer?: boolean; source?: string; prometheus?: unknown }
  evictableNamespaces?: Namespaces
  evictionLimits?: { node?: number }
}

type HighArgs = {
  thresholds?: Percentages
  numberOfNodes?: number
  evictionModes?: readonly string[]
  evictableNamespaces?: Namespaces
}

const onlyThresholding = 'OnlyThresholdingResources'

/** Takes pods from nodes that are asked for too much, if others are asked for little. */
export const lowNodeUtilization = definePlugin<LowArgs>({
  name: 'LowNodeUtilization',
  point: 'balance',
  validate(args) {
    const { thresholds = {}, targetThresholds = {} } = args
    const problems = namespaceProblems(args)
    problems.push(...measuringProblems(args.metricsUtilization))
    const [low, high] = [thresholdProblem(thresholds), thresholdProblem(targetThresholds)]
    if (low !== undefined) return [...problems, `thresholds config is not valid: ${low}`]
    if (high !== undefined) return [...problems, `targetThresholds config is not valid: ${high}`]
    const names = Object.keys(thresholds)
    if (names.length !== Object.keys(targetThresholds).length || names.some((name) => targetThresholds[name] === undefined))
      return [...problems, 'thresholds and targetThresholds configured different resources']
    const crossed = args.useDeviationThresholds ? undefined : names.find((name) => (thresholds[name] ?? 0) > (targetThresholds[name] ?? 0))
    return crossed === undefined ? problems : [...problems, `thresholds' ${crossed} percentage is greater than targetThresholds'`]
  },
  async run(args, handle) {
    const names = namesOf(args.thresholds)
    const usage = await usageOf(args, names, handle)
    const nodes = usedNodes(usage, handle)
    const { low, high } = boundsOf(args, nodes)
    const isAbove = ({ percent }: Measured) => Object.keys(high).some((name) => (high[name] ?? 0) < (percent[name] ?? 0))
    const isLow = (measured: Measured) => !measured.node.spec?.unschedulable && isBelow(measured, low)
    const lowNodes = nodes.filter(isLow)
    const highNodes = nodes.filter((measured) => !isLow(measured) && isAbove(measured))
    if (!isWorthwhile(lowNodes, nodes, args.numberOfNodes) || highNodes.length === 0) return
    const allow = (measured: Measured): UsedNode => ({ ...measured, allowed: cappedCapacity(measured.node, high, names) })
    await evictFromNodes(
      {
        sources: highNodes.map(allow).sort((one, other) => sumOf(other) - sumOf(one)),
        destinations: lowNodes.map(allow),
        ...{ names, usage, evictableNamespaces: args.evictableNamespaces, mayGo: handle.filter },
        maxPerNode: args.evictionLimits?.node,
        isStillDue: ({ used, allowed }) => names.some((name) => (used[name] ?? 0) > (allowed[name] ?? 0)),
      },
      handle,
    )
  },
})

/** Empties nodes that are asked for little, so that they may be given back. */
export const highNodeUtilization = definePlugin<HighArgs>({
  name: 'HighNodeUtilization',
  point: 'balance',
  validate(args) {
    const problems = namespaceProblems(args)
    const wrong = thresholdProblem(args.thresholds ?? {})
    if (wrong !== undefined) return [...problems, wrong]
    const mode = (args.evictionModes ?? []).find((one) => one !== onlyThresholding)
    return mode === undefined ? problems : [...problems, `invalid eviction mode ${mode}`]
  },
  async run(args, handle) {
    const thresholds = args.thresholds ?? {}
    const names = namesOf(thresholds)
    const usage = requestedUsage(handle.view, names)
    const nodes = usedNodes(usage, handle)
    const lowNodes = nodes.filter((measured) => isBelow(measured, thresholds))
    const others = nodes.filter((measured) => !isBelow(measured, thresholds) && !measured.node.spec?.unschedulable)
    if (!isWorthwhile(lowNodes, nodes, args.numberOfNodes) || others.length === 0) return
    const full = Object.fromEntries(Object.keys(thresholds).map((name) => [name, 100]))
    const allow = (measured: Measured): UsedNode => ({ ...measured, allowed: cappedCapacity(measured.node, full, names) })
    const asksForOne = ({ spec }: V1Pod) =>
      [...spec.containers, ...(spec.initContainers ?? [])].some(({ resources }) =>
        Object.keys(thresholds).some((name) => resources?.requests?.[name] !== undefined),
      )
    const isNarrow = args.evictionModes?.includes(onlyThresholding)
    await evictFromNodes(
      {
        sources: lowNodes.map(allow).sort((one, other) => sumOf(one) - sumOf(other)),
        destinations: others.map(allow),
        ...{ names, usage, evictableNamespaces: args.evictableNamespaces },
        mayGo: (pod) => handle.filter(pod) && (!isNarrow || asksForOne(pod)),
        maxPerNode: undefined,
        isStillDue: () => true,
      },
      handle,
    )
  },
})

type Measured = { node: UsedNode['node']; used: Amounts; percent: Percentages }

/** Those that count for room on nodes, whatever thresholds are given. */
const namesOf = (thresholds: Percentages = {}): string[] => [...new Set([...Object.keys(thresholds), 'cpu', 'memory', 'pods'])]

function usedNodes(usage: UsageSource, { view }: PluginHandle): Measured[] {
  return view.nodes.map((node) => {
    const used = usage.ofNode(node)
    return { node, used, percent: percentagesOf(used, node) }
  })
}

async function usageOf({ metricsUtilization }: LowArgs, names: readonly string[], handle: PluginHandle): Promise<UsageSource> {
  if (metricsUtilization === undefined) return requestedUsage(handle.view, names)
  if (handle.measurements === undefined) throw new Error('metrics client not initialized')
  return measuredUsage(handle.view, names, await handle.measurements())
}

function measuringProblems(given: LowArgs['metricsUtilization']): string[] {
  if (given === undefined) return []
  const isKubernetes = given.source === 'KubernetesMetrics'
  if (isKubernetes && given.metricsServer) return ['it is not allowed to set both "KubernetesMetrics" source and metricsServer']
  if (isKubernetes && given.prometheus !== undefined)
    return ['prometheus configuration is not allowed to set when source is set to "KubernetesMetrics"']
  if (isKubernetes || (given.source === undefined && given.metricsServer)) return []
  return [`metrics source "${given.source ?? ''}" is not supported: only "KubernetesMetrics" is`]
}

const isBelow = ({ percent }: Measured, thresholds: Percentages): boolean =>
  Object.keys(thresholds).every((name) => (thresholds[name] ?? 0) >= (percent[name] ?? 0))

const isWorthwhile = (low: readonly Measured[], all: readonly Measured[], numberOfNodes = 0): boolean =>
  low.length > 0 && low.length > numberOfNodes && low.length < all.length

/** Given ones, or so far from the average. */
function boundsOf(args: LowArgs, nodes: readonly Measured[]): { low: Percentages; high: Percentages } {
  const { thresholds = {}, targetThresholds = {} } = args
  if (!args.useDeviationThresholds) return { low: thresholds, high: targetThresholds }
  const clamp = (value: number) => Math.min(100, Math.max(0, value))
  const around = (span: Percentages, sign: 1 | -1) =>
    Object.fromEntries(
      Object.entries(span).map(([name, distance]) => {
        const average = nodes.reduce((sum, { percent }) => sum + (percent[name] ?? 0), 0) / Math.max(1, nodes.length)
        return [name, clamp(average + sign * distance)]
      }),
    )
  return { low: around(thresholds, -1), high: around(targetThresholds, 1) }
}

const namespaceProblems = ({ evictableNamespaces }: { evictableNamespaces?: Namespaces }): string[] =>
  evictableNamespaces?.include?.length ? ['only Exclude namespaces can be set, inclusion is not supported'] : []

function thresholdProblem(thresholds: Percentages): string | undefined {
  if (Object.keys(thresholds).length === 0) return 'no resource threshold is configured'
  const wrong = Object.keys(thresholds).find((name) => !((thresholds[name] ?? -1) >= 0 && (thresholds[name] ?? 101) <= 100))
  return wrong === undefined ? undefined : `${wrong} threshold not in [0, 100] range`
}
