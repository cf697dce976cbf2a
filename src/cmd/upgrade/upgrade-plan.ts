/** What an upgrade would do, and why it may not: pure. */

export type ClusterVersions = {
  /** Of the program that is to run the cluster. */
  target: string
  /** As kubeadm-config has it: what the cluster was brought to last. */
  cluster: string
  /** What the API server that was asked is. */
  server: string
  nodes: readonly { name: string; version: string; isControlPlane: boolean; isReady: boolean }[]
}

export type UpgradePlan = { rows: string[][]; problems: string[] }

/** Upstream's policy: kubelets may be so many minor versions behind the API servers, and never ahead. */
const kubeletLag = 3

export function upgradePlan({ target, cluster, server, nodes }: ClusterVersions): UpgradePlan {
  const problems: string[] = []
  const step = minorOf(target) - minorOf(server)
  if (minorOf(target) < minorOf(server) || (step === 0 && patchOf(target) < patchOf(server)))
    problems.push(`the cluster is at ${server}; going back to ${target} is not possible`)
  if (step > 1)
    problems.push(`the cluster is at ${server}; ${target} is ${step} minor versions ahead, and they must be taken one after the other`)
  for (const { name, version, isReady } of nodes) {
    const lag = minorOf(target) - minorOf(version)
    if (lag < 0) problems.push(`the kubelet of ${name} is at ${version}, which is newer than ${target}`)
    if (lag > kubeletLag)
      problems.push(`the kubelet of ${name} is at ${version}, more than ${kubeletLag} minor versions behind ${target}; upgrade it first`)
    if (!isReady) problems.push(`the node ${name} is not ready`)
  }
  const rows = [
    ['cluster (kubeadm-config)', '', cluster, target],
    ['API server', '', server, target],
    ...nodes.map(({ name, version, isControlPlane }) => [isControlPlane ? 'kubelet (control plane)' : 'kubelet', name, version, target]),
  ]
  return { rows, problems }
}

/** Control planes first, then the others: so no kubelet is ever newer than an API server. */
export function nodesInTurn(nodes: ClusterVersions['nodes'], target: string): string[] {
  const behind = nodes.filter(({ version }) => plain(version) !== plain(target))
  return [...behind.filter(({ isControlPlane }) => isControlPlane), ...behind.filter(({ isControlPlane }) => !isControlPlane)].map(
    ({ name }) => name,
  )
}

/** Without what the builder appended. */
export const plain = (version: string): string => /^v?(\d+\.\d+\.\d+)/.exec(version)?.[1] ?? version

const part = (version: string, index: number): number => Number(plain(version).split('.')[index] ?? 0)
const minorOf = (version: string): number => part(version, 0) * 1000 + part(version, 1)
const patchOf = (version: string): number => part(version, 2)
