/** `/stats/summary`, stats/v1alpha1: the figures of a node in the form that Kubernetes' users know. */

import { formatTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import type { CpuRates } from '#kubelet/stats/cpu-rates.ts'
import type { ContainerUsage, DiskUsage, FileSystemUsage, GroupUsage, InterfaceUsage, NodeUsage, PodUsage } from '#kubelet/stats/usage.ts'

export type SummaryOptions = { nodeName: string; rates: CpuRates; onlyCpuAndMemory: boolean }

export function summaryOf(usage: NodeUsage, options: SummaryOptions): object {
  const { nodeName, rates, onlyCpuAndMemory } = options
  const { whole, fs, imageFs, processes, pods, systemContainers, interfaces, defaultInterface } = usage
  const disks = onlyCpuAndMemory
    ? {}
    : {
        network: networkOf(interfaces, defaultInterface, whole.timeMs),
        fs: fs && fileSystemOf(fs),
        runtime: { imageFs: imageFs && fileSystemOf(imageFs), containerFs: imageFs && fileSystemOf(imageFs) },
        rlimit: processes && { time: formatTime(whole.timeMs), maxpid: processes.most, curproc: processes.current },
      }
  return {
    node: {
      nodeName,
      systemContainers: systemContainers.map((each) => ({
        name: each.name,
        startTime: formatTime(each.startedMs),
        ...groupOf(each, rates.of(`system/${each.name}`)),
      })),
      startTime: formatTime(usage.startedMs),
      ...groupOf(whole, rates.of('node')),
      ...disks,
    },
    pods: pods.map((pod) => podOf(pod, options, fs)),
  }
}

function podOf(pod: PodUsage, { rates, onlyCpuAndMemory }: SummaryOptions, fs: FileSystemUsage | undefined): object {
  const { name, namespace, uid, startedMs, whole, containers, interfaces, volumes = [] } = pod
  const more = onlyCpuAndMemory
    ? {}
    : {
        ...defined({ network: interfaces && networkOf(interfaces, 'eth0', whole.timeMs) }),
        volume: volumes.map(({ name: volume, usage, claim }) => ({
          ...fileSystemOf(usage),
          name: volume,
          ...defined({ pvcRef: claim }),
        })),
        'ephemeral-storage': fs && fileSystemOf({ ...fs, ...ephemeralStorageOf(pod) }),
        process_stats: { process_count: whole.processes ?? 0 },
      }
  return {
    podRef: { name, namespace, uid },
    startTime: formatTime(startedMs),
    containers: containers.map((container) =>
      containerOf(container, rates.of(`${uid}/${container.id}`), onlyCpuAndMemory ? undefined : fs),
    ),
    ...groupOf(whole, rates.of(uid)),
    ...more,
  }
}

/** Claims have a life of their own and do not count. */
function ephemeralStorageOf({ containers, volumes = [] }: Pick<PodUsage, 'containers' | 'volumes'>): DiskUsage {
  const parts = [
    ...containers.flatMap(({ rootFs, logs }) => [rootFs, logs]),
    ...volumes.filter(({ claim }) => claim === undefined).map(({ usage }) => usage),
  ]
  return {
    usedBytes: parts.reduce((sum, part) => sum + (part?.usedBytes ?? 0), 0),
    inodesUsed: parts.reduce((sum, part) => sum + (part?.inodesUsed ?? 0), 0),
  }
}

function containerOf(container: ContainerUsage, rate: number | undefined, fs: FileSystemUsage | undefined): object {
  const { name, startedMs, rootFs, logs } = container
  return {
    name,
    startTime: formatTime(startedMs),
    ...groupOf(container, rate),
    ...defined({
      rootfs: fs === undefined || rootFs === undefined ? undefined : fileSystemOf({ ...fs, ...rootFs }),
      logs: fs === undefined || logs === undefined ? undefined : fileSystemOf({ ...fs, ...logs }),
    }),
  }
}

function groupOf({ timeMs, cpu, memory }: GroupUsage, usageNanoCores: number | undefined): object {
  const time = formatTime(timeMs)
  const { usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults, limitBytes, swapBytes } = memory
  return {
    cpu: { time, ...defined({ usageNanoCores }), usageCoreNanoSeconds: cpu.usageNanos },
    memory: {
      time,
      ...defined({ availableBytes: limitBytes === undefined ? undefined : Math.max(0, limitBytes - workingSetBytes) }),
      ...{ usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults },
    },
    swap: { time, swapUsageBytes: swapBytes },
  }
}

function networkOf(interfaces: readonly InterfaceUsage[], chosen: string | undefined, timeMs: number): object {
  const shown = interfaces.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({ name, rxBytes, rxErrors, txBytes, txErrors }))
  return { time: formatTime(timeMs), ...(shown.find(({ name }) => name === chosen) ?? { name: '' }), interfaces: shown }
}

function fileSystemOf({ timeMs, ...usage }: FileSystemUsage): object {
  const { availableBytes, capacityBytes, usedBytes, inodesFree, inodes, inodesUsed } = usage
  return { time: formatTime(timeMs), availableBytes, capacityBytes, usedBytes, inodesFree, inodes, inodesUsed }
}
