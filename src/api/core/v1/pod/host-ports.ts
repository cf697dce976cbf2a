import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1PodSpec } from '#api/core/v1/types.gen.ts'

export type HostPort = { readonly ip: string; readonly protocol: string; readonly port: number }

const anyAddress = '0.0.0.0'

/** What the pod takes of its node's ports. Sidecars hold theirs for as long as the pod runs. */
export function hostPortsOf(spec: V1PodSpec): HostPort[] {
  const ports: HostPort[] = []
  const collect = (container: V1Container) => {
    for (const { hostPort, hostIP, protocol } of container.ports ?? []) {
      if (hostPort) ports.push({ ip: hostIP || anyAddress, protocol: protocol || 'TCP', port: hostPort })
    }
  }
  spec.containers.forEach(collect)
  for (const container of spec.initContainers ?? []) if (isSidecar(container)) collect(container)
  return ports
}

/** The ports of a node that its pods have taken: by `protocol/port`, the addresses. */
export class HostPorts {
  readonly #taken = new Map<string, string[]>()

  add(ports: readonly HostPort[]): void {
    for (const { ip, protocol, port } of ports) {
      const key = `${protocol}/${port}`
      const addresses = this.#taken.get(key)
      if (addresses === undefined) this.#taken.set(key, [ip])
      else addresses.push(ip)
    }
  }

  remove(ports: readonly HostPort[]): void {
    for (const { ip, protocol, port } of ports) {
      const key = `${protocol}/${port}`
      const addresses = this.#taken.get(key)
      const index = addresses?.indexOf(ip) ?? -1
      if (addresses === undefined || index < 0) continue
      addresses.splice(index, 1)
      if (addresses.length === 0) this.#taken.delete(key)
    }
  }

  /** Every address conflicts with the one that stands for all of them. */
  conflicts(ports: readonly HostPort[]): boolean {
    for (const { ip, protocol, port } of ports) {
      const addresses = this.#taken.get(`${protocol}/${port}`)
      if (addresses === undefined) continue
      if (ip === anyAddress || addresses.includes(ip) || addresses.includes(anyAddress)) return true
    }
    return false
  }

  clone(): HostPorts {
    const copy = new HostPorts()
    for (const [key, addresses] of this.#taken) copy.#taken.set(key, [...addresses])
    return copy
  }
}
