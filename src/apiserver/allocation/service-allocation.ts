/** Gives services their addresses and ports when they are made, and takes them back when they go. */

import type { V1Service, V1ServicePort } from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { internalError, invalid, StatusError } from '#api/meta/status-error.ts'
import { AllocationError, type ClusterIps, RangeIsFull } from '#apiserver/allocation/cluster-ips.ts'
import { initIpFamilies, keepsPreferDualStack } from '#apiserver/allocation/ip-families.ts'
import type { NodePorts } from '#apiserver/allocation/node-ports.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'
import type { Finish } from '#apiserver/registry/write-context.ts'
import { append } from '#base/append.ts'
import type { IpFamily } from '#base/ip-range.ts'

type Claims = {
  isDryRun: boolean
  /** Given back when the write fails. */
  addresses: string[]
  ports: number[]
  /** Given back when the write succeeds. */
  freedAddresses: string[]
  freedPorts: number[]
}

export function serviceHooks(ips: ClusterIps, nodePorts: NodePorts): RegistryHooks<V1Service> {
  const allocation = new ServiceAllocation(ips, nodePorts)
  return {
    beginCreate: (object, { isDryRun }) => allocation.create(object, isDryRun),
    beginUpdate: (next, prev, { isDryRun, subresource }) =>
      subresource === '' ? allocation.update(next, prev, isDryRun) : Promise.resolve(undefined),
    afterDelete: (object) => allocation.release(object),
  }
}

class ServiceAllocation {
  readonly #ips: ClusterIps
  readonly #ports: NodePorts

  constructor(ips: ClusterIps, ports: NodePorts) {
    this.#ips = ips
    this.#ports = ports
  }

  async create(service: V1Service, isDryRun: boolean): Promise<Finish> {
    const { spec } = service
    if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP]
    return this.#transaction(isDryRun, async (claims) => {
      initIpFamilies(service, undefined, this.#ips)
      await this.#allocateAddresses(service, claims)
      if (takesNodePorts(service)) await this.#initNodePorts(service, claims)
      if (needsHealthPort(service)) await this.#allocateHealthPort(service, claims)
    })
  }

  async update(service: V1Service, old: V1Service, isDryRun: boolean): Promise<Finish> {
    keepAllocated(service, old)
    normalizeClusterIps(service, old)
    return this.#transaction(isDryRun, async (claims) => {
      initIpFamilies(service, old, this.#ips)
      await this.#updateAddresses(service, old, claims)
      if (takesNodePorts(old) && !takesNodePorts(service)) append(claims.freedPorts, nodePortsOf(old))
      if (takesNodePorts(service)) await this.#updateNodePorts(service, old, claims)
      if (!needsHealthPort(old) && needsHealthPort(service)) await this.#allocateHealthPort(service, claims)
      else if (needsHealthPort(old) && !needsHealthPort(service)) claims.freedPorts.push(old.spec.healthCheckNodePort ?? 0)
    })
  }

  async release(service: V1Service): Promise<void> {
    if (service.spec.type !== 'ExternalName' && service.spec.clusterIPs?.[0] !== 'None') {
      for (const address of service.spec.clusterIPs ?? []) await this.#ips.release(address)
    }
    for (const port of nodePortsOf(service)) await this.#ports.release(port)
    if (needsHealthPort(service) && service.spec.healthCheckNodePort) await this.#ports.release(service.spec.healthCheckNodePort)
  }

  async #transaction(isDryRun: boolean, work: (claims: Claims) => Promise<void>): Promise<Finish> {
    const claims: Claims = { isDryRun, addresses: [], ports: [], freedAddresses: [], freedPorts: [] }
    const giveBack = async (addresses: string[], ports: number[]) => {
      if (isDryRun) return
      for (const address of addresses) await this.#ips.release(address)
      for (const port of ports) if (port > 0) await this.#ports.release(port)
    }
    try {
      await work(claims)
    } catch (error) {
      await giveBack(claims.addresses, claims.ports)
      throw error
    }
    return (wasWritten) => (wasWritten ? giveBack(claims.freedAddresses, claims.freedPorts) : giveBack(claims.addresses, claims.ports))
  }

  async #allocateAddresses(service: V1Service, claims: Claims): Promise<void> {
    const { spec } = service
    if (spec.type === 'ExternalName' || spec.clusterIPs?.[0] === 'None') return
    spec.clusterIPs ??= []
    for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
      spec.clusterIPs[index] = await this.#address(service, family as IpFamily, spec.clusterIPs[index] ?? '', claims)
      if (index === 0) spec.clusterIP = spec.clusterIPs[0] ?? ''
    }
  }

  async #address(service: V1Service, family: IpFamily, asked: string, claims: Claims): Promise<string> {
    try {
      const address = asked === '' ? await this.#ips.allocateNext(family, service, claims.isDryRun) : asked
      if (asked !== '') await this.#ips.allocate(asked, service, claims.isDryRun)
      claims.addresses.push(address)
      return address
    } catch (error) {
      const isRefusal = error instanceof StatusError && error.reason === 'Invalid'
      if (isRefusal)
        throw refusal(service, (check) =>
          check.at('spec').at('clusterIPs').invalid(`failed to allocate IP: ${error.message}`, padded(service)),
        )
      if (!(error instanceof AllocationError)) throw error
      const name = service.metadata?.name ?? ''
      if (error instanceof RangeIsFull)
        throw internalError(`failed to allocate a serviceIP for Service ${JSON.stringify(name)}: ${error.message}`)
      throw refusal(service, (check) =>
        check.at('spec').at('clusterIPs').invalid(`failed to allocate IP ${asked}: ${error.message}`, service.spec.clusterIPs),
      )
    }
  }

  async #updateAddresses(service: V1Service, old: V1Service, claims: Claims): Promise<void> {
    if (keepsPreferDualStack(service, old)) return
    const isExternal = service.spec.type === 'ExternalName'
    const wasExternal = old.spec.type === 'ExternalName'
    if (wasExternal && !isExternal) return this.#allocateAddresses(service, claims)
    if (old.spec.clusterIPs?.[0] === 'None') return
    if (!wasExternal && isExternal) {
      append(claims.freedAddresses, old.spec.clusterIPs ?? [])
      return
    }
    const [before, after] = [old.spec.ipFamilies?.length ?? 0, service.spec.ipFamilies?.length ?? 0]
    if (before === 1 && after === 2) {
      service.spec.clusterIPs ??= []
      const family = service.spec.ipFamilies?.[1] as IpFamily
      service.spec.clusterIPs[1] = await this.#address(service, family, service.spec.clusterIPs[1] ?? '', claims)
    }
    if (before === 2 && after === 1) claims.freedAddresses.push(old.spec.clusterIPs?.[1] ?? '')
  }

  /** Ports of one number share a node port unless told otherwise. */
  async #initNodePorts(service: V1Service, claims: Claims): Promise<void> {
    const byPort = new Map<number, number>()
    const ports = service.spec.ports ?? []
    for (const [index, port] of ports.entries()) {
      if (!port.nodePort && !allocatesNodePorts(service)) continue
      const known = byPort.get(port.port)
      if (known === undefined) {
        const asked = ports.find((each) => each.port === port.port && each.nodePort)?.nodePort
        port.nodePort = asked === undefined ? await this.#nextPort(claims) : await this.#port(service, index, asked, claims)
        byPort.set(port.port, port.nodePort)
      } else if (!port.nodePort) port.nodePort = known
      else if (port.nodePort !== known) await this.#port(service, index, port.nodePort, claims)
    }
  }

  async #updateNodePorts(service: V1Service, old: V1Service, claims: Claims): Promise<void> {
    const before = nodePortsOf(old)
    const taken = new Set<number>()
    const seen: V1ServicePort[] = []
    for (const [index, port] of (service.spec.ports ?? []).entries()) {
      if (!port.nodePort && !allocatesNodePorts(service)) continue
      if (!port.nodePort) port.nodePort = await this.#nextPort(claims)
      else if (!before.includes(port.nodePort) && !taken.has(port.nodePort)) {
        await this.#port(service, index, port.nodePort, claims)
        taken.add(port.nodePort)
      }
      if (seen.some(({ nodePort, protocol }) => nodePort === port.nodePort && protocol === port.protocol)) {
        throw internalError(`duplicate nodePort: {${port.protocol} ${port.nodePort}}`)
      }
      seen.push(port)
    }
    const after = nodePortsOf(service)
    append(
      claims.freedPorts,
      before.filter((port) => !after.includes(port)),
    )
  }

  async #nextPort(claims: Claims): Promise<number> {
    try {
      const port = await this.#ports.allocateNext(claims.isDryRun)
      claims.ports.push(port)
      return port
    } catch (error) {
      throw error instanceof AllocationError ? internalError(`failed to allocate a nodePort: ${error.message}`) : error
    }
  }

  async #port(service: V1Service, index: number, port: number, claims: Claims): Promise<number> {
    try {
      await this.#ports.allocate(port, claims.isDryRun)
      claims.ports.push(port)
      return port
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error
      throw refusal(service, (check) => check.at('spec').at('ports').at(index).at('nodePort').invalid(error.message, port))
    }
  }

  async #allocateHealthPort(service: V1Service, claims: Claims): Promise<void> {
    const asked = service.spec.healthCheckNodePort ?? 0
    try {
      if (asked === 0) service.spec.healthCheckNodePort = await this.#nextPort(claims)
      else {
        await this.#ports.allocate(asked, claims.isDryRun)
        claims.ports.push(asked)
      }
    } catch (error) {
      throw error instanceof AllocationError
        ? internalError(`failed to allocate requested HealthCheck NodePort ${asked}: ${error.message}`)
        : error
    }
  }
}

/** The addresses with a gap for each that is still to be found, as upstream shows them. */
function padded({ spec }: V1Service): string[] {
  return (spec.ipFamilies ?? []).map((_, index) => spec.clusterIPs?.[index] ?? '')
}

function refusal(service: V1Service, report: (check: Check<V1Service>) => void): Error {
  const check = new Check(service)
  report(check)
  return invalid({ group: '', kind: 'Service' }, service.metadata?.name ?? '', check.errors)
}

export function nodePortsOf({ spec }: V1Service): number[] {
  return (spec.ports ?? []).flatMap(({ nodePort }) => (nodePort ? [nodePort] : []))
}

function takesNodePorts({ spec }: V1Service): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer'
}

function allocatesNodePorts({ spec }: V1Service): boolean {
  return spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && (spec.allocateLoadBalancerNodePorts ?? true))
}

export function needsHealthPort({ spec }: V1Service): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'
}

/** Clients that leave out what was allocated keep it. */
function keepAllocated(service: V1Service, old: V1Service): void {
  const { spec } = service
  if (spec.type !== 'ExternalName' && old.spec.type !== 'ExternalName') {
    if (!spec.clusterIP && old.spec.clusterIP) spec.clusterIP = old.spec.clusterIP
    if (!spec.clusterIPs?.length && old.spec.clusterIPs?.length) spec.clusterIPs = deepCopy(old.spec.clusterIPs)
  }
  if (allocatesNodePorts(service) && allocatesNodePorts(old)) {
    const kept = new Set(nodePortsOf(old).filter((port) => nodePortsOf(service).includes(port)))
    for (const port of spec.ports ?? []) {
      const before = old.spec.ports?.find(({ name }) => (name ?? '') === (port.name ?? ''))?.nodePort
      if (!port.nodePort && before && !kept.has(before)) port.nodePort = before
    }
  }
  if (needsHealthPort(service) && needsHealthPort(old) && !spec.healthCheckNodePort && old.spec.healthCheckNodePort) {
    spec.healthCheckNodePort = old.spec.healthCheckNodePort
  }
}

/** `clusterIP` and the first of `clusterIPs` are one thing; who knows only the first may change it alone. */
function normalizeClusterIps({ spec }: V1Service, { spec: before }: V1Service): void {
  const isSame = spec.clusterIP === before.clusterIP
  if (before.clusterIPs?.length && !spec.clusterIPs?.length && isSame) spec.clusterIPs = deepCopy(before.clusterIPs)
  if (isSame || !equalJson(before.clusterIPs ?? [], spec.clusterIPs ?? [])) return
  if (before.clusterIP && !spec.clusterIP) delete spec.clusterIPs
  else spec.clusterIPs = [spec.clusterIP ?? '']
}
