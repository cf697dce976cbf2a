import type { Logger } from '#base/log.ts'
import type { SocketAddress, SocketListener, Sockets, TcpConnection } from '#base/sockets.ts'

const connectMs = 3000

export type ApiBalancerOptions = { port: number; servers: readonly SocketAddress[]; sockets: Sockets; logger: Logger }

const textOf = ({ host, port }: SocketAddress): string => `${host} ${port}`

/**
 * A port of the loopback address that leads to one of the API servers. One that cannot be reached is passed over, and connections to
 * one that has left are cut, so that clients come again and are led elsewhere.
 */
export class ApiBalancer {
  readonly #options: ApiBalancerOptions
  readonly #connections = new Map<string, Set<TcpConnection>>()
  #servers: readonly SocketAddress[]
  #next = 0
  #listener: SocketListener | undefined

  private constructor(options: ApiBalancerOptions) {
    this.#options = options
    this.#servers = options.servers
  }

  static async listen(options: ApiBalancerOptions): Promise<ApiBalancer> {
    const balancer = new ApiBalancer(options)
    const at = { host: '127.0.0.1', port: options.port }
    balancer.#listener = await options.sockets.listenTcp(at, (connection) => void balancer.#lead(connection))
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
    this.#servers = servers
    const known = new Set(servers.map(textOf))
    for (const [server, connections] of this.#connections) {
      if (!known.has(server)) for (const connection of connections) connection.destroy()
    }
  }

  async close(): Promise<void> {
    await this.#listener?.close()
    for (const connections of this.#connections.values()) for (const connection of connections) connection.destroy()
  }

  async #lead(client: TcpConnection): Promise<void> {
    client.stream.on('error', () => client.destroy())
    const servers = this.#servers
    const first = this.#next++
    for (let tried = 0; tried < servers.length; tried++) {
      const server = servers[(first + tried) % servers.length]
      if (server === undefined) continue
      const connection = await this.#options.sockets.connectTcp(server, connectMs).catch(() => undefined)
      if (connection === undefined) {
        this.#options.logger.debug('API server cannot be reached, trying the next', { server: textOf(server) })
        continue
      }
      this.#join(client, connection, textOf(server))
      return
    }
    this.#options.logger.warn('no API server can be reached', { servers: servers.map(textOf) })
    client.destroy()
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
