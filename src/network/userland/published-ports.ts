import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { SocketAddress, SocketListener, TcpConnection } from '#base/sockets.ts'

export type PublishedPortsOptions = {
  /** Where on the machine, and where that is in the network of the node. */
  host: string
  nodeAddress: string
  logger: Logger
  /** A socket that listens on the machine; its descriptor. */
  listen(at: SocketAddress): Promise<number>
  accept(descriptor: number, onConnection: (connection: TcpConnection) => void): SocketListener
  connect(to: SocketAddress): Promise<TcpConnection>
}

type Published = { owners: Set<string>; listener: Promise<SocketListener | undefined> }

/** Ports of the node that the machine has as well, for as long as somebody wants them. */
export class PublishedPorts {
  readonly #options: PublishedPortsOptions
  readonly #ports = new Map<number, Published>()

  constructor(options: PublishedPortsOptions) {
    this.#options = options
  }

  /** All that this owner wants from now on. */
  set(owner: string, ports: readonly number[]): void {
    const wanted = new Set(ports)
    for (const [port, published] of this.#ports) {
      if (wanted.has(port) || !published.owners.delete(owner) || published.owners.size > 0) continue
      this.#ports.delete(port)
      void published.listener.then((listener) => listener?.close())
    }
    for (const port of wanted) {
      const known = this.#ports.get(port)
      if (known !== undefined) known.owners.add(owner)
      else this.#ports.set(port, { owners: new Set([owner]), listener: this.#open(port) })
    }
  }

  async close(): Promise<void> {
    const all = [...this.#ports.values()]
    this.#ports.clear()
    await Promise.all(all.map(async ({ listener }) => (await listener)?.close()))
  }

  async #open(port: number): Promise<SocketListener | undefined> {
    const { host, nodeAddress, listen, accept, connect, logger } = this.#options
    try {
      return accept(await listen({ host, port }), (client) => {
        client.stream.on('error', () => client.destroy())
        connect({ host: nodeAddress, port }).then(
          (server) => join(client, server),
          () => client.destroy(),
        )
      })
    } catch (error) {
      // Something else on the machine has it; among pods it works all the same.
      logger.warn('failed to listen at a node port on the machine', { host, port, error: errorMessage(error) })
      return undefined
    }
  }
}

function join(client: TcpConnection, server: TcpConnection): void {
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.stream.on('error', () => other.destroy())
    one.stream.on('close', () => other.destroy())
    one.stream.pipe(other.stream)
  }
}
