/** Which of the kernel's settings pods may have for themselves. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import type { Waiting } from '#kubelet/pod-worker/pod-steps.ts'

/** They touch nobody but the pod. */
const safe: readonly string[] = [
  ...['kernel.shm_rmid_forced', 'net.ipv4.ip_local_port_range', 'net.ipv4.tcp_syncookies', 'net.ipv4.ping_group_range'],
  ...['net.ipv4.ip_unprivileged_port_start', 'net.ipv4.ip_local_reserved_ports', 'net.ipv4.tcp_keepalive_time'],
  ...['net.ipv4.tcp_fin_timeout', 'net.ipv4.tcp_keepalive_intvl', 'net.ipv4.tcp_keepalive_probes'],
  ...['net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'],
]

const namespaces: readonly (readonly [prefix: string, namespace: 'IPC' | 'Net'])[] = [
  ['kernel.sem', 'IPC'],
  ['kernel.shm', 'IPC'],
  ['kernel.msg', 'IPC'],
  ['fs.mqueue.', 'IPC'],
  ['net.', 'Net'],
]

/** Throws where a pattern names what is the whole machine's. */
export function verifySysctlPatterns(patterns: readonly string[]): void {
  for (const pattern of patterns) {
    const name = normalized(pattern).replace(/\*$/, '')
    if (namespaceOf(name) === undefined) throw new Error(`the sysctls ${quoted(name)} are not known to be namespaced`)
  }
}

/** Why the node does not take the pod, by what it asks of the kernel. */
export function forbiddenSysctl({ spec }: V1Pod, allowedUnsafe: readonly string[]): Waiting | undefined {
  for (const { name } of spec.securityContext?.sysctls ?? []) {
    const why = refusalOf(normalized(name), spec, allowedUnsafe)
    if (why !== undefined) return { reason: 'SysctlForbidden', message: `forbidden sysctl: ${why}` }
  }
  return undefined
}

function refusalOf(name: string, { hostNetwork, hostIPC }: V1Pod['spec'], allowedUnsafe: readonly string[]): string | undefined {
  const matches = (pattern: string) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern)
  if (![...safe, ...allowedUnsafe.map(normalized)].some(matches)) return `${quoted(name)} not allowlisted`
  const namespace = namespaceOf(name)
  const isShared = namespace === 'Net' ? hostNetwork : hostIPC
  return isShared ? `${quoted(name)} not allowed with host ${namespace} enabled` : undefined
}

const namespaceOf = (name: string): 'IPC' | 'Net' | undefined => namespaces.find(([prefix]) => name.startsWith(prefix))?.[1]

/** With slashes in place of dots a name may have dots in its parts: `net/ipv4/conf/eth0.1/forwarding`. */
function normalized(name: string): string {
  const first = /[./]/.exec(name)?.[0]
  return first === '/' ? name.replace(/[./]/g, (each) => (each === '/' ? '.' : '/')) : name
}
