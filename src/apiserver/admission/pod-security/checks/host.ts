/** Pods stay apart from the machine they run on: its namespaces, paths, ports and processes. */
import type { V1Container, V1LifecycleHandler, V1Probe } from '#api/core/v1/types.gen.ts'
import {
  containersOf,
  containersText,
  namesWhere,
  type PodCheck,
  plural,
  quotedList,
  settersText,
  sortedSet,
} from '#apiserver/admission/pod-security/checks/check.ts'

export const hostNamespaces: PodCheck = {
  id: 'hostNamespaces',
  level: 'baseline',
  versions: [
    {
      since: 0,
      check(spec) {
        const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((name) => spec[name]).map((name) => `${name}=true`)
        return shared.length === 0 ? undefined : { reason: 'host namespaces', detail: shared.join(', ') }
      },
    },
  ],
}

export const hostPathVolumes: PodCheck = {
  id: 'hostPathVolumes',
  level: 'baseline',
  versions: [
    {
      since: 0,
      check({ volumes = [] }) {
        const names = volumes.filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name)
        if (names.length === 0) return undefined
        return { reason: 'hostPath volumes', detail: `${plural('volume', names.length)} ${quotedList(names)}` }
      },
    },
  ],
}

export const hostPorts: PodCheck = {
  id: 'hostPorts',
  level: 'baseline',
  versions: [
    {
      since: 0,
      check(spec) {
        const used = ({ ports }: Pick<V1Container, 'ports'>) =>
          (ports ?? []).map(({ hostPort = 0 }) => hostPort).filter((port) => port !== 0)
        const names = namesWhere(spec, (container) => used(container).length > 0)
        if (names.length === 0) return undefined
        const ports = sortedSet(containersOf(spec).flatMap(used).map(String))
        const uses = `${plural('uses', names.length, 'use')} ${plural('hostPort', ports.length)} ${ports.join(', ')}`
        return { reason: 'hostPort', detail: `${containersText(names)} ${uses}` }
      },
    },
  ],
}

const hostsOf = (handler: V1Probe | V1LifecycleHandler | undefined): string[] =>
  [handler?.httpGet?.host, handler?.tcpSocket?.host].filter((host) => host !== undefined && host !== '') as string[]

/** A probe to another host makes the kubelet knock where the pod could not. */
export const hostProbesAndHostLifecycle: PodCheck = {
  id: 'hostProbesAndHostLifecycle',
  level: 'baseline',
  versions: [
    {
      since: 34,
      check(spec) {
        const hosts = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Partial<V1Container>) =>
          [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop].flatMap(hostsOf)
        const names = sortedSet(namesWhere(spec, (container) => hosts(container).length > 0))
        if (names.length === 0) return undefined
        const found = sortedSet(containersOf(spec).flatMap(hosts))
        const reason = 'probe or lifecycle host'
        const uses = `${plural('uses', names.length, 'use')} ${plural(reason, found.length)} ${quotedList(found)}`
        return { reason, detail: `${containersText(names)} ${uses}` }
      },
    },
  ],
}

export const windowsHostProcess: PodCheck = {
  id: 'windowsHostProcess',
  level: 'baseline',
  versions: [
    {
      since: 0,
      check(spec) {
        const isPod = spec.securityContext?.windowsOptions?.hostProcess === true
        const names = namesWhere(spec, ({ securityContext }) => securityContext?.windowsOptions?.hostProcess === true)
        if (!isPod && names.length === 0) return undefined
        const detail = `${settersText(isPod, names)} must not set securityContext.windowsOptions.hostProcess=true`
        return { reason: 'hostProcess', detail }
      },
    },
  ],
}
