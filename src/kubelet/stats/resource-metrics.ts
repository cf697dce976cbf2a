/** `/metrics/resource`: what a metrics server reads of a node, its pods and their containers. */
import { labelled } from '#kubelet/stats/metric-lines.ts'
import type { NodeUsage } from '#kubelet/stats/usage.ts'

export function resourceMetrics({ whole, pods }: NodeUsage): string {
  const lines: string[] = []
  const family = (name: string, type: 'counter' | 'gauge', help: string, values: Iterable<readonly [string, number, number?]>) => {
    const before = lines.length
    for (const [labels, value, timeMs] of values) lines.push(`${name}${labels} ${value}${timeMs === undefined ? '' : ` ${timeMs}`}`)
    if (lines.length > before) lines.splice(before, 0, `# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
  }
  const containers = pods.flatMap(({ name: pod, namespace, containers }) =>
    containers.map((usage) => ({ labels: labelled({ container: usage.name, namespace, pod }), usage })),
  )
  const ofPods = pods.map(({ name: pod, namespace, whole: usage }) => ({ labels: labelled({ namespace, pod }), usage }))
  family(
    'container_cpu_usage_seconds_total',
    'counter',
    'Processor time that the container has used, in seconds of a core',
    containers.map(({ labels, usage }) => [labels, seconds(usage.cpu.usageNanos), usage.timeMs]),
  )
  family(
    'container_memory_working_set_bytes',
    'gauge',
    'Working set of the container',
    containers.map(({ labels, usage }) => [labels, usage.memory.workingSetBytes, usage.timeMs]),
  )
  family(
    'container_start_time_seconds',
    'gauge',
    'When the container was started, in seconds since 1970',
    containers.map(({ labels, usage }) => [labels, usage.startedMs / 1000]),
  )
  family(
    'container_swap_usage_bytes',
    'gauge',
    'Swap that the container uses',
    containers.map(({ labels, usage }) => [labels, usage.memory.swapBytes, usage.timeMs]),
  )
  family('node_cpu_usage_seconds_total', 'counter', 'Processor time that the node has used, in seconds of a core', [
    ['', seconds(whole.cpu.usageNanos), whole.timeMs],
  ])
  family('node_memory_working_set_bytes', 'gauge', 'Working set of the node', [['', whole.memory.workingSetBytes, whole.timeMs]])
  family('node_swap_usage_bytes', 'gauge', 'Swap that the node uses', [['', whole.memory.swapBytes, whole.timeMs]])
  family(
    'pod_cpu_usage_seconds_total',
    'counter',
    'Processor time that the pod has used, in seconds of a core',
    ofPods.map(({ labels, usage }) => [labels, seconds(usage.cpu.usageNanos), usage.timeMs]),
  )
  family(
    'pod_memory_working_set_bytes',
    'gauge',
    'Working set of the pod',
    ofPods.map(({ labels, usage }) => [labels, usage.memory.workingSetBytes, usage.timeMs]),
  )
  family(
    'pod_swap_usage_bytes',
    'gauge',
    'Swap that the pod uses',
    ofPods.map(({ labels, usage }) => [labels, usage.memory.swapBytes, usage.timeMs]),
  )
  family('resource_scrape_error', 'gauge', 'Whether these figures could not be had: 1 if so', [['', 0]])
  return `${lines.join('\n')}\n`
}

export const seconds = (nanos: number): number => nanos / 1e9
