/** What a node says in `/metrics/resource`: text in Prometheus' format. */

import { defined } from '#base/defined.ts'

export type Sample = { timeMs: number; cpuSeconds: number; memoryBytes: number }
export type ContainerSample = Sample & { startedMs: number }
/** Containers by name, by `namespace/pod`. */
export type NodeSamples = { node?: Sample; pods: Map<string, Map<string, ContainerSample>> }

/** What is only half there is left out. */
export function parseSamples(text: string, nowMs: number): NodeSamples {
  const node: Partial<Sample> = {}
  const pods = new Map<string, Map<string, Partial<ContainerSample>>>()
  for (const line of text.split('\n')) {
    const found = /^([a-z_]+)(?:\{(.*)\})? (\S+)(?: (\d+))?$/.exec(line)
    if (found === null) continue
    const [, name = '', labels = '', amount = '', time] = found
    const value = Number(amount)
    if (!Number.isFinite(value)) continue
    if (name.startsWith('node_')) note(node, name.slice('node_'.length), value, time)
    else if (name.startsWith('container_')) note(containerOf(pods, labels), name.slice('container_'.length), value, time)
  }
  return {
    ...defined({ node: isWhole(node) ? { timeMs: nowMs, ...node } : undefined }),
    pods: new Map([...pods].map(([pod, containers]) => [pod, wholeOnes(containers, nowMs)])),
  }
}

function note(sample: Partial<ContainerSample>, name: string, value: number, time: string | undefined): void {
  if (name === 'cpu_usage_seconds_total') sample.cpuSeconds = value
  else if (name === 'memory_working_set_bytes') sample.memoryBytes = value
  else if (name === 'start_time_seconds') sample.startedMs = value * 1000
  if (time !== undefined && name === 'cpu_usage_seconds_total') sample.timeMs = Number(time)
}

function containerOf(pods: Map<string, Map<string, Partial<ContainerSample>>>, labels: string): Partial<ContainerSample> {
  const label = (name: string) => new RegExp(`(?:^|,)${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(labels)?.[1] ?? ''
  const containers = pods.getOrInsertComputed(`${label('namespace')}/${label('pod')}`, () => new Map())
  return containers.getOrInsertComputed(label('container'), () => ({}))
}

const isWhole = <T extends Partial<Sample>>(sample: T): sample is T & Pick<Sample, 'cpuSeconds' | 'memoryBytes'> =>
  sample.cpuSeconds !== undefined && sample.memoryBytes !== undefined

function wholeOnes(containers: ReadonlyMap<string, Partial<ContainerSample>>, nowMs: number): Map<string, ContainerSample> {
  const whole = new Map<string, ContainerSample>()
  for (const [name, sample] of containers) if (isWhole(sample)) whole.set(name, { timeMs: nowMs, startedMs: 0, ...sample })
  return whole
}
