/** Values by host: a host itself before a wildcard, a longer wildcard before a shorter one, and last the value for any host. */
export class HostIndex<T> {
  readonly #exact = new Map<string, T>()
  /** By what follows the star. */
  readonly #label = new Map<string, T>()
  readonly #labels = new Map<string, T>()
  #any: T | undefined

  #mapOf(host: string, wildcard: 'label' | 'labels'): Map<string, T> {
    if (!host.startsWith('*.')) return this.#exact
    return wildcard === 'label' ? this.#label : this.#labels
  }

  get(host: string, wildcard: 'label' | 'labels'): T | undefined {
    return host === '' ? this.#any : this.#mapOf(host, wildcard).get(host.replace('*', ''))
  }

  set(host: string, wildcard: 'label' | 'labels', value: T): void {
    if (host === '') this.#any = value
    else this.#mapOf(host, wildcard).set(host.replace('*', ''), value)
  }

  delete(host: string, wildcard: 'label' | 'labels'): void {
    if (host === '') this.#any = undefined
    else this.#mapOf(host, wildcard).delete(host.replace('*', ''))
  }

  get isEmpty(): boolean {
    return this.#any === undefined && this.#exact.size + this.#label.size + this.#labels.size === 0
  }

  /** `host` in small letters, without a port. */
  find(host: string): T | undefined {
    const exact = this.#exact.get(host)
    if (exact !== undefined) return exact
    if (this.#label.size + this.#labels.size > 0) {
      const first = host.indexOf('.')
      // A wildcard stands for at least one label.
      for (let dot = first; dot > 0; dot = host.indexOf('.', dot + 1)) {
        const suffix = host.slice(dot)
        const found = (dot === first ? this.#label.get(suffix) : undefined) ?? this.#labels.get(suffix)
        if (found !== undefined) return found
      }
    }
    return this.#any
  }
}

const longestHost = 253

/** As hosts are compared: small letters, without the port and the root's dot. */
export function comparableHost(host: string): string {
  let end = host.length
  if (host.startsWith('[')) return host.slice(0, host.indexOf(']') + 1).toLowerCase()
  const colon = host.indexOf(':')
  if (colon !== -1) end = colon
  if (host[end - 1] === '.') end--
  // A longer one is nobody's, and looking for it would take long.
  return end > longestHost ? '' : host.slice(0, end).toLowerCase()
}
