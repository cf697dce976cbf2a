import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { SocketAddress, SocketListener, Sockets, TcpConnection } from '#base/sockets.ts'

const connectMs = 3000
/** The kernel of a machine that is there answers at once, however busy its programs are. */
const checkMs = 2000
const checkLimitMs = 1000
const mostFormer = 8

export type ApiBalancerOptions = { port: number; servers: readonly SocketAddress[]; sockets: Sockets; clock: Clock; logger: Logger }

const textOf = ({ host, port }: SocketAddress): string => `${host} ${port}`

/**
 * A port of the loopback address that leads to one of the API servers. One that cannot be reached is passed over, and connections to
 * one that has left are cut, so that clients come again and are led elsewhere. A machine that is gone says nothing any more: servers
 * that somebody is connected to are looked for every other second.
 */
export class ApiBalancer {
  readonly #options: ApiBalancerOptions
  readonly #connections = new Map<string, Set<TcpConnection>>()
  #servers: readonly SocketAddress[]
  /** No longer named, the newest first: tried where none of the others can be reached, since those who name them may have been wrong. */
  #former: readonly SocketAddress[] = []
  /** Could not be reached: asked last, until they are there again. */
  readonly #ailing = new Set<string>()
  #next = 0
  #check: Timer | undefined
  /** It was said that nobody can be reached. */
  #isAlone = false
  #isClosed = false
  #listener: SocketListener | undefined

  private constructor(options: ApiBalancerOptions) {
    this.#options = options
    this.#servers = options.servers
  }

  static async listen(options: ApiBalancerOptions): Promise<ApiBalancer> {
    const balancer = new ApiBalancer(options)
    const at = { host: '127.0.0.1', port: options.port }
    balancer.#listener = await options.sockets.listenTcp(at, (connection) => void balancer.#lead(connection))
    balancer.#checkLater()
    return balancer
  }

  get port(): number {
    return this.#listener?.port ?? 0
  }

  get servers(): readonly SocketAddress[] {
    return this.#servers
  }

  /** An empty list is not believed: a way that may be wrong is better than none. */
  use(servers: readonly SocketAddress[]): void {
    if (servers.length === 0) return
    const known = new Set(servers.map(textOf))
    const earlier = [...this.#servers, ...this.#former].filter((server) => !known.has(textOf(server)))
    this.#former = earlier.slice(0, mostFormer)
    this.#servers = servers
    for (const [server, connections] of this.#connections) {
      if (!known.has(server)) for (const connection of connections) connection.destroy()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#check?.cancel()
    await this.#listener?.close()
    for (const connections of this.#connections.values()) for (const connection of connections) connection.destroy()
  }

  async #lead(client: TcpConnection): Promise<void> {
    client.stream.on('error', () => client.destroy())
    const first = this.#next++ % this.#servers.length
    const inTurn = [...this.#servers.slice(first), ...this.#servers.slice(0, first)]
    const isWell = (server: SocketAddress) => !this.#ailing.has(textOf(server))
    const servers = [...inTurn.filter(isWell), ...inTurn.filter((server) => !isWell(server)), ...this.#former]
    for (const server of servers) {
      const connection = await this.#reach(server, connectMs)
      if (connection === undefined) continue
      this.#join(client, connection, textOf(server))
      return
    }
    if (!this.#isAlone) this.#options.logger.warn('no API server can be reached', { servers: servers.map(textOf) })
    this.#isAlone = true
    client.destroy()
  }

  /** Undefined where it cannot be reached: then nobody is left waiting for its answers. */
  async #reach(server: SocketAddress, limitMs: number): Promise<TcpConnection | undefined> {
    const name = textOf(server)
    const connection = await this.#options.sockets.connectTcp(server, limitMs).catch(() => undefined)
    if (connection !== undefined) {
      this.#ailing.delete(name)
      this.#isAlone = false
    } else {
      if (!this.#ailing.has(name)) this.#options.logger.info('API server cannot be reached, using others', { server: name })
      this.#ailing.add(name)
      for (const waiting of this.#connections.get(name) ?? []) waiting.destroy()
    }
    return connection
  }

  #checkLater(): void {
    if (this.#isClosed) return
    this.#check = this.#options.clock.after(checkMs, () => void this.#checkAll().then(() => this.#checkLater()))
  }

  async #checkAll(): Promise<void> {
    const isOfInterest = (name: string) => this.#ailing.has(name) || (this.#connections.get(name)?.size ?? 0) > 0
    const servers = this.#servers.filter((server) => isOfInterest(textOf(server)))
    const reached = await Promise.all(servers.map((server) => this.#reach(server, checkLimitMs)))
    for (const connection of reached) connection?.destroy()
  }

  #join(client: TcpConnection, server: TcpConnection, name: string): void {
    const connections = this.#connections.getOrInsertComputed(name, () => new Set())
    connections.add(client)
    const end = () => {
      connections.delete(client)
      client.destroy()
      server.destroy()
    }
    for (const { stream } of [client, server]) stream.on('error', end).on('close', end)
    client.stream.pipe(server.stream)
    server.stream.pipe(client.stream)
  }
}
