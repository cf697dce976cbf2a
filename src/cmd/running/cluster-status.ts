/** How a running cluster is, found out from its API, its process and its files. */

import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { ComponentStatus, Node, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1ComponentStatus, V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { endingOf, watchedCertificate } from '#apiserver/pki/expiry-watch.ts'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { nodeFiles } from '#base/files.ts'
import { kernelFiles } from '#base/kernel-files.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { clockProblems } from '#cmd/running/clock-skew.ts'
import { type Crashes, readCrashes } from '#cmd/running/crash-reports.ts'
import type { RunningCluster } from '#cmd/running/running-cluster.ts'
import { kubernetesVersion, version as programVersion } from '#cmd/version.ts'

export type ClusterStatus = {
  dataDir: string
  url: string
  pid: number
  kubeconfig: string
  startedAt: string
  versions: { kubernetes: string; typernetes: string }
  parts: Record<string, string>
  nodes: { name: string; ready: boolean; runtime: string; simulated: boolean }[]
  pods: Record<string, number>
  store: { sizeBytes?: number; revision: string }
  /** The first one to end. */
  certificates?: { name: string; endsAt: string }
  process?: { memoryBytes: number; cpuSeconds: number }
  /** How often it ended without being asked to and was started again, as far back as reports are kept. */
  crashes?: Crashes
  problems: string[]
}

/** Where the API cannot be asked since a certificate has expired, that is what is said. */
export async function clusterStatus(dataDir: string, running: RunningCluster): Promise<ClusterStatus> {
  const wrong = await certificateProblems(join(dataDir, 'pki'))
  try {
    const status = await askedStatus(dataDir, running)
    return { ...status, problems: [...wrong, ...status.problems] }
  } catch (error) {
    throw wrong.length === 0 ? error : new Error([errorMessage(error), ...wrong].join('; '), { cause: error })
  }
}

async function askedStatus(dataDir: string, running: RunningCluster): Promise<ClusterStatus> {
  using client = await openClient({ kubeconfig: running.kubeconfig, userAgent: 'typernetes-status' })
  const [nodes, pods, leases, etcd, store, certificates, crashes] = await Promise.all([
    client.list(Node),
    client.list(Pod),
    client.list(Lease, { namespace: 'kube-node-lease' }),
    client.get(ComponentStatus, '', 'etcd-0'),
    storeSize(join(dataDir, 'store')),
    firstToEnd(join(dataDir, 'pki')),
    readCrashes(nodeFiles, dataDir),
  ])
  const byPhase: Record<string, number> = {}
  for (const { status } of pods.items) byPhase[status?.phase ?? 'Unknown'] = (byPhase[status?.phase ?? 'Unknown'] ?? 0) + 1
  const process = processUsage(running.pid)
  return {
    ...{ dataDir, url: running.url, pid: running.pid, kubeconfig: running.kubeconfig },
    startedAt: new Date(running.startedMs).toISOString(),
    versions: { kubernetes: kubernetesVersion, typernetes: programVersion },
    parts: Object.fromEntries(running.parts),
    nodes: nodes.items.map((node) => ({
      ...{ name: node.metadata.name ?? '', ready: isReady(node) },
      runtime: node.status?.nodeInfo?.containerRuntimeVersion ?? '',
      simulated: node.metadata.labels?.['typernetes.dev/simulated'] === 'true',
    })),
    pods: byPhase,
    store: { ...defined({ sizeBytes: store }), revision: nodes.metadata?.resourceVersion ?? '' },
    ...defined({ certificates, process, crashes }),
    problems: [
      ...storeProblem(etcd),
      ...nodes.items.flatMap(nodeProblem),
      ...clockProblems(leases.items),
      ...pods.items.flatMap(podProblem),
    ],
  }
}

const isReady = ({ status }: V1Node): boolean => findCondition(status?.conditions ?? [], 'Ready')?.status === 'True'

function storeProblem({ conditions = [] }: V1ComponentStatus): string[] {
  return conditions.flatMap(({ type, status, message }) => (type === 'Healthy' && status !== 'True' ? [`store: ${message}`] : []))
}

function nodeProblem({ metadata, status }: V1Node): string[] {
  return (status?.conditions ?? []).flatMap(({ type, status: is, message, reason }) => {
    const isWrong = type === 'Ready' ? is !== 'True' : ['MemoryPressure', 'DiskPressure', 'PIDPressure'].includes(type) && is === 'True'
    return isWrong ? [`node ${metadata.name}: ${type} is ${is}: ${message || reason}; see kubectl describe node ${metadata.name}`] : []
  })
}

function podProblem({ metadata, status }: V1Pod): string[] {
  const name = `${metadata.namespace}/${metadata.name}`
  const look = `see kubectl describe pod ${metadata.name} -n ${metadata.namespace}`
  const unscheduled = (status?.conditions ?? []).find(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable')
  if (unscheduled !== undefined) return [`pod ${name} cannot be scheduled: ${unscheduled.message}`]
  const waiting = (status?.containerStatuses ?? []).find(({ state }) => /BackOff|Err|Invalid/.test(state?.waiting?.reason ?? ''))?.state
    ?.waiting
  return waiting === undefined ? [] : [`pod ${name}: ${waiting.reason}: ${waiting.message ?? ''}; ${look}`]
}

async function storeSize(directory: string): Promise<number | undefined> {
  // There is no such directory before the first start.
  const names = await nodeFiles.list(directory).catch(() => [])
  const stats = await Promise.all(names.map((name) => nodeFiles.stat(join(directory, name))))
  return names.length === 0 ? undefined : stats.reduce((sum, stat) => sum + (stat?.sizeBytes ?? 0), 0)
}

async function certificateProblems(directory: string): Promise<string[]> {
  // There is no such directory before the first start.
  const names = (await nodeFiles.list(directory).catch(() => [])).filter((name) => /\.(crt|pem)$/.test(name))
  const endings = await Promise.all(
    names.map(async (name) => {
      const place = join(directory, name)
      const certificatePem = await nodeFiles.readText(place)
      // One that is damaged is made anew at the next start.
      return certificatePem.includes('-END CERTIFICATE-')
        ? endingOf(watchedCertificate(place, certificatePem), systemClock.now())
        : undefined
    }),
  )
  return endings.flatMap((ending) => (ending === undefined ? [] : [ending.message]))
}

async function firstToEnd(directory: string): Promise<ClusterStatus['certificates']> {
  // There is no such directory before the first start.
  const names = (await nodeFiles.list(directory).catch(() => [])).filter((name) => name.endsWith('.crt'))
  const ends = await Promise.all(
    names.map(async (name) => ({
      name: name.slice(0, -'.crt'.length),
      endsMs: Date.parse(new X509Certificate(await nodeFiles.readText(join(directory, name))).validTo),
    })),
  )
  const [first] = ends.sort((one, other) => one.endsMs - other.endsMs)
  return first && { name: first.name, endsAt: new Date(first.endsMs).toISOString() }
}

function processUsage(pid: number): ClusterStatus['process'] {
  const resident = /^VmRSS:\s+(\d+) kB/m.exec(kernelFiles.read(`/proc/${pid}/status`) ?? '')?.[1]
  const fields = (kernelFiles.read(`/proc/${pid}/stat`) ?? '').split(') ')[1]?.split(' ')
  if (resident === undefined || fields === undefined) return undefined
  return { memoryBytes: Number(resident) * 1024, cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100 }
}

export function statusText(status: ClusterStatus): string {
  const { dataDir, url, pid, kubeconfig, startedAt, versions, nodes, pods, store, certificates, process, crashes, problems } = status
  const minutes = Math.floor((systemClock.now() - Date.parse(startedAt)) / 60_000)
  const since =
    minutes < 1
      ? 'less than a minute'
      : minutes < 2
        ? 'a minute'
        : minutes < 120
          ? `${minutes} minutes`
          : `${Math.floor(minutes / 60)} hours`
  const ready = nodes.filter((node) => node.ready).length
  const runtimes = [...new Set(nodes.map(({ runtime }) => runtime))].join(', ')
  const mebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`
  const phases = Object.entries(pods).map(([phase, count]) => `${count} ${phase}`)
  const rows = [
    ['API', url],
    ['Kubeconfig', kubeconfig],
    ['Process', `${pid}${process ? `: ${mebibytes(process.memoryBytes)}, ${process.cpuSeconds.toFixed(1)} s of CPU` : ''}`],
    ['Version', `${versions.typernetes} (Kubernetes ${versions.kubernetes})`],
    ['Nodes', nodes.length === 0 ? 'none' : `${ready} of ${nodes.length} ready (${runtimes})`],
    ['Pods', phases.join(', ') || 'none'],
    ['Store', `revision ${store.revision}${store.sizeBytes === undefined ? '' : `, ${mebibytes(store.sizeBytes)}`}`],
    ...(certificates
      ? [['Certificates', `valid until ${certificates.endsAt.slice(0, 10)} (${certificates.name} first); renewed by themselves`]]
      : []),
  ]
  if (crashes) {
    const { at, endedWith, serving, path } = crashes.last
    const meanwhile = serving.length === 0 ? '' : ` while it served ${serving[0]}`
    rows.push(['Crashes', `${crashes.count}, the last at ${at} with ${endedWith}${meanwhile}; see ${path}`])
  }
  const table = rows.map(([name = '', value]) => `  ${name.padEnd(12)}  ${value}`)
  const wrong = problems.length === 0 ? ['Nothing is wrong'] : ['What is wrong:', ...problems.map((problem) => `  - ${problem}`)]
  return [`The cluster in ${dataDir} has been running for ${since}`, ...table, ...wrong].join('\n')
}
