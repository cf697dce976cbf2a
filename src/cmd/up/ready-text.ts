/** What a user is told when the cluster is there. */
import { delimiter, join } from 'node:path'
import { Node, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { StorageClass } from '#api/storage/v1/kinds.gen.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { Files } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { kubernetesVersion } from '#cmd/version.ts'

/** A part of the cluster, and what there is of it. */
export type ClusterPart = readonly [name: string, state: string]

export type DescribedCluster = {
  cluster: ClusterView
  options: UpOptions
  controllerCount: number
  /** Why no real node could be had; absent where one was not asked for, or is there. */
  whyNoNode?: string | undefined
}

export const simulatedLabel = 'typernetes.dev/simulated'

/** As it is now, not as it was asked for. */
export function clusterParts({ cluster, options, controllerCount, whyNoNode }: DescribedCluster): ClusterPart[] {
  const { store, scheduler, proxyMode, dataDir } = options
  const nodes = cluster.list(Node)
  const hasRealNode = nodes.some((node) => !isSimulated(node))
  const dns = cluster.get(Service, 'kube-system', 'kube-dns')?.spec?.clusterIP
  const storage = cluster
    .list(StorageClass)
    .find(({ metadata }) => metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true')
  return [
    ['API', `Kubernetes ${kubernetesVersion}`],
    [
      'Store',
      store === 'sqlite'
        ? `SQLite in ${dataDir}`
        : store === 'etcd'
          ? `etcd in ${dataDir}`
          : store === 'memory'
            ? 'memory: nothing is kept after the end'
            : store,
    ],
    ['Controllers', controllerCount === 0 ? 'none' : `${controllerCount} running`],
    ['Scheduler', scheduler ? 'running' : 'none'],
    ['Nodes', nodesText(nodes, whyNoNode)],
    ['Services', !hasRealNode ? 'addresses only: no real node' : proxyMode === 'none' ? 'none (--proxy-mode none)' : `by ${proxyMode}`],
    ['DNS', dns === undefined ? 'none' : dns],
    ['Storage', storage === undefined ? 'no default class' : `class ${storage.metadata.name} (${storage.provisioner})`],
  ]
}

const isSimulated = ({ metadata }: V1Node): boolean => metadata.labels?.[simulatedLabel] === 'true'

function nodesText(nodes: readonly V1Node[], why: string | undefined): string {
  const real = nodes.filter((node) => !isSimulated(node))
  const simulated = nodes.length - real.length
  // One that has only just joined has not said yet.
  const runtimes = new Set(real.flatMap(({ status }) => status?.nodeInfo?.containerRuntimeVersion || []))
  const parts = [
    ...(real.length === 0 ? [] : [`${real.length} real${runtimes.size === 0 ? '' : ` (${[...runtimes].join(', ')})`}`]),
    ...(simulated === 0 ? [] : [`${simulated} simulated`]),
  ]
  const reason = why === undefined || real.length > 0 ? '' : `; no real one: ${why}`
  return `${parts.join(', ') || 'none'}${reason}`
}

export type ReadyCluster = { url: string; kubeconfig: string; parts: readonly ClusterPart[]; hasNodes: boolean; note?: string }

export function readyText({ url, kubeconfig, parts, hasNodes, note }: ReadyCluster, kubectl: string): string {
  const width = Math.max(...parts.map(([name]) => name.length))
  const rows = parts.map(([name, state]) => `  ${name.padEnd(width)}  ${state}`)
  const next = hasNodes ? `${kubectl} create deployment hello --image=nginx && ${kubectl} get pods --watch` : `${kubectl} get namespaces`
  return [
    `The cluster is ready at ${url}`,
    ...rows,
    `Next: export KUBECONFIG='${kubeconfig}' && ${next}`,
    ...(note === undefined ? [] : [note]),
  ].join('\n')
}

/** The command to look at it with: the one that is installed, or the one in this package. */
export async function kubectlCommand(files: Files): Promise<string> {
  const directories = (thisProcess.environment['PATH'] ?? '').split(delimiter).filter(Boolean)
  // A directory of PATH that cannot be looked into has no kubectl for this user.
  const found = await Promise.all(directories.map((directory) => files.stat(join(directory, 'kubectl')).catch(() => undefined)))
  return found.some((stat) => stat !== undefined) ? 'kubectl' : 'npx typernetes kubectl'
}
