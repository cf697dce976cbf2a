import type { Files } from '#base/files.ts'
import type { SandboxConfig } from '#wire/cri/cri-types.ts'

/** What a pod's containers read at /etc/resolv.conf: the node's own where the pod says nothing. */
export async function resolvConfOf(
  { dnsConfig }: SandboxConfig,
  files: Pick<Files, 'readTextIfPresent'>,
  hostFile = '/etc/resolv.conf',
): Promise<string | undefined> {
  if (dnsConfig === undefined) return files.readTextIfPresent(hostFile)
  const { servers = [], searches = [], options = [] } = dnsConfig
  const lines = [
    ...servers.map((server) => `nameserver ${server}`),
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
  ]
  return `${lines.join('\n')}\n`
}
