/** Whether two groups have the same kind of machine, only elsewhere. */
import { parseQuantity } from '#api/meta/quantity.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import { nodeGroupLabel } from '#cluster-autoscaler/provider/machine-groups.ts'
import type { TemplateNode } from '#cluster-autoscaler/snapshot/template-nodes.ts'

const ignoredLabels: readonly string[] = [
  'kubernetes.io/hostname',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'beta.kubernetes.io/fluentd-ds-ready',
  'kops.k8s.io/instancegroup',
  nodeGroupLabel,
]
const memoryTolerance = 0.015
const allocatableTolerance = 0.05
const freeTolerance = 0.05

export function areSimilar(
  one: TemplateNode,
  other: TemplateNode,
  { balancingIgnoreLabels, balancingLabels }: Pick<AutoscalerOptions, 'balancingIgnoreLabels' | 'balancingLabels'>,
): boolean {
  const [labels, otherLabels] = [one.node.metadata.labels ?? {}, other.node.metadata.labels ?? {}]
  if (balancingLabels.length > 0) return balancingLabels.every((key) => labels[key] === otherLabels[key])
  const ignored = new Set([...ignoredLabels, ...balancingIgnoreLabels])
  return (
    sameLabels(labels, otherLabels, ignored) &&
    areWithin(amountsOf(one.node.status?.capacity), amountsOf(other.node.status?.capacity), (name) =>
      name === 'memory' ? memoryTolerance : 0,
    ) &&
    areWithin(amountsOf(one.node.status?.allocatable), amountsOf(other.node.status?.allocatable), () => allocatableTolerance) &&
    areWithin(freeOf(one), freeOf(other), () => freeTolerance)
  )
}

type Amounts = ReadonlyMap<string, number>

const amountsOf = (list: Readonly<Record<string, string>> = {}): Amounts =>
  new Map(Object.entries(list).map(([name, text]) => [name, parseQuantity(text).milliValue()]))

function freeOf({ node, pods }: TemplateNode): Amounts {
  const { cpu = '0', memory = '0' } = node.status?.allocatable ?? {}
  let [cpuMillis, bytes] = [parseQuantity(cpu).milliValue(), parseQuantity(memory).value()]
  for (const { requests } of pods) {
    cpuMillis -= requests.cpuMillis
    bytes -= requests.memory
  }
  return new Map([
    ['cpu', cpuMillis],
    ['memory', bytes],
  ])
}

function areWithin(one: Amounts, other: Amounts, toleranceOf: (name: string) => number): boolean {
  if (one.size !== other.size) return false
  for (const [name, amount] of one) {
    const second = other.get(name)
    if (second === undefined) return false
    if (Math.abs(amount - second) > Math.max(amount, second) * toleranceOf(name)) return false
  }
  return true
}

function sameLabels(one: Record<string, string>, other: Record<string, string>, ignored: ReadonlySet<string>): boolean {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)])
  for (const key of keys) if (!ignored.has(key) && one[key] !== other[key]) return false
  return true
}
