import type { HostPort } from '#scheduler/cache/pod-info.ts'

const anyAddress = '0.0.0.0'

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
