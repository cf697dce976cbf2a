/** `/metrics/cadvisor`: pods and containers under the names that cAdvisor gave its metrics, which dashboards and rules ask for. */
import { escaped, labelled } from '#kubelet/stats/metric-lines.ts'
import { seconds } from '#kubelet/stats/resource-metrics.ts'
import type { GroupUsage, InterfaceUsage, NodeUsage } from '#kubelet/stats/usage.ts'

export type MachineFacts = {
  cores: number
  memoryBytes: number
  machineId: string
  bootId: string
  systemUuid: string
  kernelVersion: string
  osImage: string
  version: string
}

type Labels = { container: string; id: string; image: string; name: string; namespace: string; pod: string }
/** With its labels as text, since they are written many times. */
type Subject = { labels: string; usage: GroupUsage; startedMs: number }

type Family = { name: string; type: 'counter' | 'gauge'; help: string; more?: string; value(usage: GroupUsage): number | undefined }

const families: readonly Family[] = [
  {
    name: 'container_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Processor time used, in seconds',
    more: ',cpu="total"',
    value: ({ cpu }) => seconds(cpu.usageNanos),
  },
  {
    name: 'container_cpu_user_seconds_total',
    type: 'counter',
    help: 'Processor time used by programs, in seconds',
    value: ({ cpu }) => (cpu.userNanos === undefined ? undefined : seconds(cpu.userNanos)),
  },
  {
    name: 'container_cpu_system_seconds_total',
    type: 'counter',
    help: 'Processor time used by the kernel on their behalf, in seconds',
    value: ({ cpu }) => (cpu.systemNanos === undefined ? undefined : seconds(cpu.systemNanos)),
  },
  {
    name: 'container_cpu_cfs_periods_total',
    type: 'counter',
    help: 'Periods in which a quota of processor time was enforced',
    value: ({ cpu }) => cpu.throttling?.periods,
  },
  {
    name: 'container_cpu_cfs_throttled_periods_total',
    type: 'counter',
    help: 'Periods in which the quota was used up',
    value: ({ cpu }) => cpu.throttling?.throttledPeriods,
  },
  {
    name: 'container_cpu_cfs_throttled_seconds_total',
    type: 'counter',
    help: 'Time spent held back by the quota, in seconds',
    value: ({ cpu }) => cpu.throttling && seconds(cpu.throttling.throttledNanos),
  },
  { name: 'container_memory_usage_bytes', type: 'gauge', help: 'Memory used, caches included', value: ({ memory }) => memory.usageBytes },
  {
    name: 'container_memory_working_set_bytes',
    type: 'gauge',
    help: 'Memory that cannot be taken back at once',
    value: ({ memory }) => memory.workingSetBytes,
  },
  { name: 'container_memory_rss', type: 'gauge', help: 'Memory that belongs to no file', value: ({ memory }) => memory.rssBytes },
  { name: 'container_memory_cache', type: 'gauge', help: 'Memory that holds parts of files', value: ({ memory }) => memory.cacheBytes },
  { name: 'container_memory_swap', type: 'gauge', help: 'Swap used', value: ({ memory }) => memory.swapBytes },
  { name: 'container_memory_max_usage_bytes', type: 'gauge', help: 'Most memory ever used', value: ({ memory }) => memory.maxUsageBytes },
  { name: 'container_memory_failcnt', type: 'counter', help: 'How often the memory limit was met', value: ({ memory }) => memory.failures },
  {
    name: 'container_spec_memory_limit_bytes',
    type: 'gauge',
    help: 'Memory limit; 0 for none',
    value: ({ memory }) => memory.limitBytes ?? 0,
  },
  { name: 'container_processes', type: 'gauge', help: 'Processes running', value: ({ processes }) => processes },
  {
    name: 'container_last_seen',
    type: 'gauge',
    help: 'When it was last looked at, in seconds since 1970',
    value: ({ timeMs }) => Math.floor(timeMs / 1000),
  },
]

const networkFamilies: readonly { name: string; help: string; value: keyof Omit<InterfaceUsage, 'name'> }[] = [
  { name: 'container_network_receive_bytes_total', help: 'Bytes received', value: 'rxBytes' },
  { name: 'container_network_receive_packets_total', help: 'Packets received', value: 'rxPackets' },
  { name: 'container_network_receive_errors_total', help: 'Errors while receiving', value: 'rxErrors' },
  { name: 'container_network_receive_packets_dropped_total', help: 'Packets dropped while receiving', value: 'rxDropped' },
  { name: 'container_network_transmit_bytes_total', help: 'Bytes sent', value: 'txBytes' },
  { name: 'container_network_transmit_packets_total', help: 'Packets sent', value: 'txPackets' },
  { name: 'container_network_transmit_errors_total', help: 'Errors while sending', value: 'txErrors' },
  { name: 'container_network_transmit_packets_dropped_total', help: 'Packets dropped while sending', value: 'txDropped' },
]

export function cadvisorMetrics(usage: NodeUsage, machine: MachineFacts): string {
  const lines: string[] = []
  const family = (name: string, type: string, help: string, samples: readonly string[]) => {
    if (samples.length > 0) lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples)
  }
  const subjects = subjectsOf(usage)
  const { version, kernelVersion, osImage, cores, memoryBytes, machineId, bootId, systemUuid } = machine
  const about = { cadvisorRevision: '', cadvisorVersion: '', dockerVersion: '', kernelVersion, osVersion: osImage }
  family('cadvisor_version_info', 'gauge', `Version of the kernel and the system; from kubelet ${version}`, [
    `cadvisor_version_info${labelled(about)} 1`,
  ])
  for (const { name, type, help, more = '', value } of families) {
    const samples: string[] = []
    for (const { labels, usage } of subjects) {
      const amount = value(usage)
      if (amount !== undefined) samples.push(`${name}{${labels}${more}} ${amount} ${usage.timeMs}`)
    }
    family(name, type, help, samples)
  }
  const started = subjects.map(
    ({ labels, startedMs, usage }) => `container_start_time_seconds{${labels}} ${startedMs / 1000} ${usage.timeMs}`,
  )
  family('container_start_time_seconds', 'gauge', 'When it was started, in seconds since 1970', started)
  const networks = networksOf(usage)
  for (const { name, help, value } of networkFamilies) {
    const samples = networks.map(({ labels, counts }) => `${name}{${labels}} ${counts[value]} ${usage.whole.timeMs}`)
    family(name, 'counter', help, samples)
  }
  const disks = usage.pods.flatMap(({ name: pod, namespace, containers }) =>
    containers.flatMap(({ name: container, rootFs, id, image, cgroup, timeMs }) =>
      rootFs === undefined
        ? []
        : [
            `container_fs_usage_bytes${labelled({ container, device: '', id: `/${cgroup}`, image, name: id, namespace, pod })} ${rootFs.usedBytes} ${timeMs}`,
          ],
    ),
  )
  family('container_fs_usage_bytes', 'gauge', 'Bytes written to the root file system', disks)
  const ids = { boot_id: bootId, machine_id: machineId, system_uuid: systemUuid }
  family('machine_cpu_cores', 'gauge', 'Logical processors', [`machine_cpu_cores${labelled(ids)} ${cores}`])
  family('machine_memory_bytes', 'gauge', 'Memory installed', [`machine_memory_bytes${labelled(ids)} ${memoryBytes}`])
  family('machine_scrape_error', 'gauge', 'Whether these figures could not be had: 1 if so', ['machine_scrape_error 0'])
  return `${lines.join('\n')}\n`
}

/** The machine, the group of all pods, each pod, each container. */
function subjectsOf({ whole, startedMs, systemContainers, pods }: NodeUsage): Subject[] {
  const subjects: Subject[] = [{ labels: labelsOf(none), usage: whole, startedMs }]
  for (const usage of systemContainers) {
    subjects.push({ labels: labelsOf({ ...none, id: `/${usage.name}` }), usage, startedMs: usage.startedMs })
  }
  for (const { name: pod, namespace, cgroup, whole: usage, startedMs: podStartedMs, containers } of pods) {
    subjects.push({ labels: labelsOf({ ...none, id: `/${cgroup}`, namespace, pod }), usage, startedMs: podStartedMs })
    for (const each of containers) {
      const labels = labelsOf({ container: each.name, id: `/${each.cgroup}`, image: each.image, name: each.id, namespace, pod })
      subjects.push({ labels, usage: each, startedMs: each.startedMs })
    }
  }
  return subjects
}

const none: Labels = { container: '', id: '/', image: '', name: '', namespace: '', pod: '' }

/** All of one form, as Prometheus' own library writes them: by name. */
const labelsOf = ({ container, id, image, name, namespace, pod }: Labels): string =>
  `container="${escaped(container)}",id="${escaped(id)}",image="${escaped(image)}",name="${escaped(name)}",` +
  `namespace="${escaped(namespace)}",pod="${escaped(pod)}"`

/** Every interface of the machine and of pods. */
function networksOf({ interfaces, pods }: NodeUsage): { labels: string; counts: InterfaceUsage }[] {
  const all: { labels: string; counts: InterfaceUsage }[] = []
  const add = (labels: string, found: readonly InterfaceUsage[]) => {
    for (const counts of found) all.push({ labels: `${labels},interface="${escaped(counts.name)}"`, counts })
  }
  add(labelsOf(none), interfaces)
  for (const { name: pod, namespace, cgroup, interfaces: found = [] } of pods) {
    if (found.length > 0) add(labelsOf({ ...none, id: `/${cgroup}`, namespace, pod }), found)
  }
  return all
}
