/** Where the pods behind services listen, kept by service so that a call need not look through all of them. */

import { Endpoints } from '#api/core/v1/kinds.gen.ts'
import type { V1Endpoints } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameOf } from '#api/discovery/v1/service-name.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

export type ServiceEndpoint = {
  readonly ip: string
  readonly family: 'IPv4' | 'IPv6'
  readonly port: number
  readonly nodeName: string
  /** Of the pod, where it is one. */
  readonly podName: string
}

/** Follows the slices from the first question on: most clusters never ask. */
export class ServiceEndpoints implements Disposable {
  readonly #cluster: () => ClusterView
  readonly #slices = new Map<string, Map<string, V1EndpointSlice>>()
  #following: ReturnType<ClusterView['onChange']> | undefined

  constructor(cluster: () => ClusterView) {
    this.#cluster = cluster
  }

  /** Those that are ready, under the port's name; from Endpoints where nobody makes slices of them. */
  async readyOf(namespace: string, service: string, portName: string): Promise<ServiceEndpoint[]> {
    await this.#caughtUp()
    const slices = this.#slices.get(`${namespace}/${service}`)
    if (slices !== undefined) return [...slices.values()].flatMap((slice) => readyInSlice(slice, portName))
    const endpoints = this.#cluster().get(Endpoints, namespace, service)
    return endpoints === undefined ? [] : readyInEndpoints(endpoints, portName)
  }

  /** Whether anything is known of the service's pods, ready or not. */
  async areThere(namespace: string, service: string): Promise<boolean> {
    await this.#caughtUp()
    return this.#slices.has(`${namespace}/${service}`) || this.#cluster().get(Endpoints, namespace, service) !== undefined
  }

  async #caughtUp(): Promise<void> {
    this.#following ??= this.#cluster().onChange(EndpointSlice, (slice, isDeleted) => this.#keep(slice, isDeleted), true)
    if (this.#following.caughtUp !== undefined) await this.#following.caughtUp
  }

  [Symbol.dispose](): void {
    this.#following?.[Symbol.dispose]()
  }

  #keep(slice: V1EndpointSlice, isDeleted: boolean): void {
    const { namespace = '', name = '' } = slice.metadata ?? {}
    const service = `${namespace}/${serviceNameOf(slice)}`
    if (!isDeleted) {
      this.#slices.getOrInsertComputed(service, () => new Map()).set(name, slice)
      return
    }
    const known = this.#slices.get(service)
    known?.delete(name)
    if (known?.size === 0) this.#slices.delete(service)
  }
}

function readyInSlice({ addressType, endpoints, ports }: V1EndpointSlice, portName: string): ServiceEndpoint[] {
  const port = ports?.find(({ name = '' }) => name === portName)?.port
  if (port === undefined || addressType === 'FQDN') return []
  return (endpoints ?? []).flatMap(({ addresses, conditions, nodeName = '', targetRef }) => {
    const [ip] = addresses
    if (ip === undefined || conditions?.ready === false) return []
    return [
      { ip, family: addressType as 'IPv4' | 'IPv6', port, nodeName, podName: targetRef?.kind === 'Pod' ? (targetRef.name ?? '') : '' },
    ]
  })
}

function readyInEndpoints({ subsets }: V1Endpoints, portName: string): ServiceEndpoint[] {
  return (subsets ?? []).flatMap(({ addresses, ports }) => {
    const port = ports?.find(({ name = '' }) => name === portName)?.port
    if (port === undefined) return []
    return (addresses ?? []).map(({ ip, nodeName = '', targetRef }) => {
      const podName = targetRef?.kind === 'Pod' ? (targetRef.name ?? '') : ''
      return { ip, family: ip.includes(':') ? ('IPv6' as const) : ('IPv4' as const), port, nodeName, podName }
    })
  })
}
