import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { DataPlane } from '#ingress/data-plane/proxy-threads.ts'

/** A place where clients are to be let in. */
export type WantedListener = {
  readonly listener: string
  readonly port: number
  readonly shownPort: number
  readonly isSecure: boolean
  /** A spare address; all the usual ones where absent. */
  readonly host?: string
}

/** Addresses beside the usual ones, which the machine has only as long as somebody listens there. */
export type SpareAddresses = {
  readonly all: readonly string[]
  add(address: string): Promise<void>
  remove(address: string): Promise<void>
}

export type ListenersOptions = {
  dataPlane: DataPlane
  hosts: readonly string[]
  fallback: { cert: string; key: string }
  logger: Logger
  spare?: SpareAddresses
}

type Opened = { want: WantedListener; hosts: string[]; problem: string | undefined }

/** The ports of the proxy: those that somebody wants, at every address. */
export class Listeners {
  readonly #options: ListenersOptions
  readonly #opened = new Map<string, Opened>()

  constructor(options: ListenersOptions) {
    this.#options = options
  }

  /** Why clients are not let in there; undefined where they are, or will be. */
  problemOf(listener: string): string | undefined {
    return this.#opened.get(listener)?.problem
  }

  isOpen(listener: string): boolean {
    const opened = this.#opened.get(listener)
    return opened !== undefined && opened.problem === undefined
  }

  /** Opens what is missing and closes what nobody wants. Whatever could not be had is tried again by the next call. */
  async bringAbout(wanted: readonly WantedListener[]): Promise<void> {
    const { dataPlane, spare } = this.#options
    for (const [key, { want, hosts }] of this.#opened) {
      const next = wanted.find(({ listener }) => listener === key)
      if (next?.port === want.port && next.isSecure === want.isSecure) continue
      for (const host of hosts) dataPlane.unlisten({ host, port: want.port })
      this.#opened.delete(key)
      const isUsed = [...wanted, ...[...this.#opened.values()].map((opened) => opened.want)].some(({ host }) => host === want.host)
      if (want.host !== undefined && !isUsed) await spare?.remove(want.host)
    }
    for (const want of wanted) {
      const before = this.#opened.get(want.listener)
      if (before !== undefined && before.problem === undefined) continue
      this.#opened.set(want.listener, await this.#open(want, before))
    }
  }

  async #open(want: WantedListener, before: Opened | undefined): Promise<Opened> {
    const { dataPlane, fallback, logger, spare } = this.#options
    const hosts = [...(before?.hosts ?? [])]
    let problem: string | undefined
    for (const host of want.host === undefined ? this.#options.hosts : [want.host]) {
      if (hosts.includes(host)) continue
      try {
        if (want.host !== undefined) await spare?.add(host)
        await dataPlane.listen({ ...want, host, fallback: want.isSecure ? fallback : undefined })
        hosts.push(host)
      } catch (error) {
        problem = `port ${want.port} of ${host} cannot be had: ${errorMessage(error)}`
        if (before?.problem !== problem) logger.warn(`ingress: ${problem}`, { listener: want.listener })
      }
    }
    // One address is enough to be reached.
    return { want, hosts, problem: hosts.length > 0 ? undefined : problem }
  }
}
