/** What processes may do beyond an ordinary user. */
import {
  type CheckPod,
  containersOf,
  containersText,
  isWindows,
  namesWhere,
  type PodCheck,
  quotedList,
  sortedSet,
  unless,
} from '#apiserver/admission/pod-security/checks/check.ts'

export const privileged: PodCheck = {
  id: 'privileged',
  level: 'baseline',
  versions: [
    {
      since: 0,
      check(spec) {
        const names = namesWhere(spec, ({ securityContext }) => securityContext?.privileged === true)
        if (names.length === 0) return undefined
        return { reason: 'privileged', detail: `${containersText(names)} must not set securityContext.privileged=true` }
      },
    },
  ],
}

const mustNotEscalate: CheckPod = (spec) => {
  const names = namesWhere(spec, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false)
  if (names.length === 0) return undefined
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false`,
  }
}

export const allowPrivilegeEscalation: PodCheck = {
  id: 'allowPrivilegeEscalation',
  level: 'restricted',
  versions: [
    { since: 8, check: mustNotEscalate },
    { since: 25, check: unless(isWindows, mustNotEscalate) },
  ],
}

/** What container runtimes give by default. */
const defaultCapabilities = new Set([
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'SETFCAP', 'SETGID'],
  ...['SETPCAP', 'SETUID', 'SYS_CHROOT'],
])

type Container = ReturnType<typeof containersOf>[number]

const added = ({ securityContext }: Container): string[] => securityContext?.capabilities?.add ?? []

export const capabilitiesBaseline: PodCheck = {
  id: 'capabilities_baseline',
  level: 'baseline',
  versions: [
    {
      since: 0,
      check(spec) {
        const forbidden = (container: Container) => added(container).filter((name) => !defaultCapabilities.has(name))
        const names = namesWhere(spec, (container) => forbidden(container).length > 0)
        return names.length === 0
          ? undefined
          : { reason: 'non-default capabilities', detail: mustNotAdd(names, containersOf(spec).flatMap(forbidden)) }
      },
    },
  ],
}

const mustNotAdd = (containers: readonly string[], capabilities: readonly string[]): string =>
  `${containersText(containers)} must not include ${quotedList(sortedSet(capabilities))} in securityContext.capabilities.add`

const mustDropAll: CheckPod = (spec) => {
  const forbidden = (container: Container) => added(container).filter((name) => name !== 'NET_BIND_SERVICE')
  const keeping = namesWhere(spec, ({ securityContext }) => !securityContext?.capabilities?.drop?.includes('ALL'))
  const adding = namesWhere(spec, (container) => forbidden(container).length > 0)
  const details = [
    ...(keeping.length > 0 ? [`${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0 ? [mustNotAdd(adding, containersOf(spec).flatMap(forbidden))] : []),
  ]
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') }
}

export const capabilitiesRestricted: PodCheck = {
  id: 'capabilities_restricted',
  level: 'restricted',
  versions: [
    { since: 22, check: mustDropAll, overrides: ['capabilities_baseline'] },
    { since: 25, check: unless(isWindows, mustDropAll), overrides: ['capabilities_baseline'] },
  ],
}
