/** Which parts of the kernel pods may see and tune. */
import {
  type CheckPod,
  containersOf,
  containersText,
  hasOwnUsers,
  namesWhere,
  type PodCheck,
  quotedList,
  sortedSet,
  unless,
} from '#apiserver/admission/pod-security/checks/check.ts'

const mustMaskProc: CheckPod = (spec) => {
  const isUnmasked = (procMount: string | undefined) => procMount !== undefined && procMount !== 'Default'
  const names = namesWhere(spec, ({ securityContext }) => isUnmasked(securityContext?.procMount))
  if (names.length === 0) return undefined
  const found = containersOf(spec).map(({ securityContext }) => securityContext?.procMount)
  const values = sortedSet(found.filter(isUnmasked) as string[])
  return { reason: 'procMount', detail: `${containersText(names)} must not set securityContext.procMount to ${quotedList(values)}` }
}

export const procMount: PodCheck = {
  id: 'procMount',
  level: 'baseline',
  versions: [
    { since: 0, check: mustMaskProc },
    { since: 35, check: unless(hasOwnUsers, mustMaskProc) },
  ],
}

export const procMountRestricted: PodCheck = {
  id: 'procMount_restricted',
  level: 'restricted',
  versions: [{ since: 35, check: mustMaskProc, overrides: ['procMount'] }],
}

const onlySysctls =
  (allowed: readonly string[]): CheckPod =>
  ({ securityContext }) => {
    const forbidden = (securityContext?.sysctls ?? []).map(({ name }) => name).filter((name) => !allowed.includes(name))
    return forbidden.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: forbidden.join(', ') }
  }

const ipv4 = (...names: string[]): string[] => names.map((name) => `net.ipv4.${name}`)
const since0 = [
  'kernel.shm_rmid_forced',
  ...ipv4('ip_local_port_range', 'tcp_syncookies', 'ping_group_range', 'ip_unprivileged_port_start'),
]
const since27 = [...since0, ...ipv4('ip_local_reserved_ports')]
const since29 = [...since27, ...ipv4('tcp_keepalive_time', 'tcp_fin_timeout', 'tcp_keepalive_intvl', 'tcp_keepalive_probes')]
const since32 = [...since29, ...ipv4('tcp_rmem', 'tcp_wmem')]

/** Those that do not reach beyond the pod. */
export const sysctls: PodCheck = {
  id: 'sysctls',
  level: 'baseline',
  versions: [
    { since: 0, check: onlySysctls(since0) },
    { since: 27, check: onlySysctls(since27) },
    { since: 29, check: onlySysctls(since29) },
    { since: 32, check: onlySysctls(since32) },
  ],
}
