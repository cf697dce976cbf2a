/** What a pod offers to a service. */

import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import { lastingContainers } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Pod, V1Service, V1ServicePort } from '#api/core/v1/types.gen.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

export function isInEndpoints(pod: V1Pod, { includesTerminating }: { includesTerminating: boolean }): boolean {
  if (isPodFinished(pod)) return false
  if (!pod.status?.podIP && (pod.status?.podIPs ?? []).length === 0) return false
  return includesTerminating || !isDeleting(pod)
}

export const hasHostname = ({ spec, metadata }: V1Pod, service: V1Service): boolean =>
  Boolean(spec.hostname) && spec.subdomain === service.metadata.name && metadata.namespace === service.metadata.namespace

export type FoundPorts<T> = {
  readonly ports: T[]
  /** The same for pods whose ports are. */
  readonly key: string
}

/** The ports of pods that a service means. Many pods have the same, which are made once for all of them. */
export class ServicePorts<T> {
  readonly #wanted: readonly V1ServicePort[]
  readonly #hasNames: boolean
  readonly #found = new Map<string, FoundPorts<T>>()
  readonly #options: { portOf: (servicePort: V1ServicePort, port: number) => T; keyOf: (ports: T[]) => string }

  constructor({ spec }: V1Service, options: { portOf: (servicePort: V1ServicePort, port: number) => T; keyOf: (ports: T[]) => string }) {
    this.#wanted = spec?.ports ?? []
    this.#hasNames = this.#wanted.some(({ targetPort }) => typeof targetPort === 'string')
    this.#options = options
  }

  /** Without those that the pod has no port of that name for. */
  of(pod: V1Pod): FoundPorts<T> {
    // Where no port is meant by name it does not depend on the pod.
    const byName = this.#hasNames ? portsByName(pod) : undefined
    const numbers = byName && this.#wanted.map((servicePort) => targetPort(byName, servicePort))
    return this.#found.getOrInsertComputed(numbers?.join() ?? '', () => {
      const { portOf, keyOf } = this.#options
      const ports = this.#wanted.flatMap((servicePort) => {
        const port = targetPort(byName, servicePort)
        return port === undefined ? [] : [portOf(servicePort, port)]
      })
      return { ports, key: keyOf(ports) }
    })
  }
}

/** By name and protocol; the first of those that have the same. */
function portsByName({ spec }: V1Pod): Map<string, number> {
  const byName = new Map<string, number>()
  for (const { ports = [] } of lastingContainers(spec))
    for (const { name, protocol = 'TCP', containerPort } of ports) if (name) byName.getOrInsert(`${name}/${protocol}`, containerPort)
  return byName
}

function targetPort(
  byName: ReadonlyMap<string, number> | undefined,
  { targetPort: target, port, protocol = 'TCP' }: V1ServicePort,
): number | undefined {
  if (target === undefined) return port
  if (typeof target === 'number') return target === 0 ? port : target
  return byName?.get(`${target}/${protocol}`)
}

export function addressesOf({ status }: V1Pod, family: 'IPv4' | 'IPv6'): string[] {
  const all = status?.podIPs?.map(({ ip }) => ip) ?? (status?.podIP ? [status.podIP] : [])
  return all.filter((ip) => ip.includes(':') === (family === 'IPv6'))
}

export function familiesOf({ spec }: V1Service): ('IPv4' | 'IPv6')[] {
  const families = (spec?.ipFamilies ?? []) as ('IPv4' | 'IPv6')[]
  if (families.length > 0) return families
  return spec?.clusterIP?.includes(':') ? ['IPv6'] : ['IPv4']
}

export const isHeadless = ({ spec }: V1Service): boolean => spec?.clusterIP === 'None' || !spec?.clusterIP
