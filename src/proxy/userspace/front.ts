import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { SocketAddress, SocketListener, Sockets, TcpConnection, UdpSocket } from '#base/sockets.ts'
import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import type { PortPlan } from '#proxy/service-table/port-plan.ts'
import type { RoundRobin } from '#proxy/userspace/round-robin.ts'

export type FrontOptions = {
  at: SocketAddress
  sockets: Sockets
  clock: Clock
  logger: Logger
  turns: RoundRobin
  /** Changes with the service. */
  plan: PortPlan
  /** Shared by all fronts. */
  open: OpenConversations
  /** The endpoints for a client; none: it is turned away. */
  choose(plan: PortPlan, client: string): readonly Endpoint[]
}

/** How long one endpoint may take to answer before the next is tried. */
const dialTimeoutMs = [250, 1000, 2000, 5000]
const datagramIdleMs = 60_000

/** One address and port that clients reach a service by. */
export type Front = { setPlan(plan: PortPlan): void; close(): Promise<void> }

export function openFront(options: FrontOptions): Promise<Front> {
  return options.plan.port.protocol === 'UDP' ? openUdpFront(options) : openTcpFront(options)
}

async function openTcpFront({ at, sockets, logger, turns, choose, ...options }: FrontOptions): Promise<Front> {
  let { plan } = options
  const serve = async (client: TcpConnection) => {
    client.stream.on('error', () => {})
    const { affinitySeconds } = plan.port
    const endpoints = turns.order(choose(plan, client.remote.host), client.remote.host, affinitySeconds)
    for (const timeoutMs of endpoints.length === 0 ? [] : dialTimeoutMs) {
      for (const endpoint of endpoints) {
        try {
          const server = await sockets.connectTcp({ host: endpoint.ip, port: endpoint.port }, timeoutMs)
          turns.served(client.remote.host, endpoint, affinitySeconds)
          join(client, server)
          return
        } catch (error) {
          logger.debug('failed to connect to endpoint, trying the next', {
            service: plan.port.name,
            endpoint: endpoint.text,
            error: String(error),
          })
        }
      }
    }
    client.destroy()
  }
  const listener: SocketListener = await sockets.listenTcp(at, (client) => void serve(client))
  return {
    setPlan(next) {
      plan = next
    },
    close: () => listener.close(),
  }
}

function join(client: TcpConnection, server: TcpConnection): void {
  const end = () => {
    client.destroy()
    server.destroy()
  }
  for (const { stream } of [client, server]) stream.on('error', end)
  client.stream.once('close', () => server.destroy())
  server.stream.once('close', () => client.destroy())
  client.stream.pipe(server.stream)
  server.stream.pipe(client.stream)
}

/**
 * Conversations in datagrams of all fronts, each of which holds a socket: anybody may begin one in any name. Where there are too many, the
 * one that was silent for longest ends.
 */
export class OpenConversations {
  readonly #most: number
  /** What ends each, the one that was silent for longest first. */
  readonly #ends = new Set<() => void>()

  constructor(most = 4096) {
    this.#most = most
  }

  /** It begins, or something was said. */
  heard(end: () => void): void {
    this.#ends.delete(end)
    this.#ends.add(end)
    if (this.#ends.size <= this.#most) return
    for (const oldest of this.#ends) {
      oldest()
      return
    }
  }

  ended(end: () => void): void {
    this.#ends.delete(end)
  }
}

type Conversation = { endpoint: Endpoint; socket: UdpSocket; timer: Timer; end(): void }

async function openUdpFront({ at, sockets, clock, turns, choose, open, ...options }: FrontOptions): Promise<Front> {
  let { plan } = options
  const conversations = new Map<string, Conversation>()
  const end = (key: string) => {
    const conversation = conversations.get(key)
    if (conversation === undefined) return
    conversations.delete(key)
    open.ended(conversation.end)
    conversation.timer.cancel()
    conversation.socket.close()
  }
  const begin = (key: string, from: SocketAddress): Conversation | undefined => {
    const [endpoint] = turns.order(choose(plan, from.host), from.host, plan.port.affinitySeconds)
    if (endpoint === undefined) return undefined
    turns.served(from.host, endpoint, plan.port.affinitySeconds)
    const socket = sockets.connectUdp(
      { host: endpoint.ip, port: endpoint.port },
      (message) => listener.send(message, from),
      () => end(key),
    )
    const conversation = { endpoint, socket, timer: clock.after(datagramIdleMs, () => end(key)), end: () => end(key) }
    conversations.set(key, conversation)
    open.heard(conversation.end)
    return conversation
  }
  const listener = await sockets.bindUdp(at, (message, from) => {
    const key = `${from.host} ${from.port}`
    const known = conversations.get(key)
    if (known !== undefined) {
      known.timer.cancel()
      known.timer = clock.after(datagramIdleMs, () => end(key))
      open.heard(known.end)
    }
    ;(known ?? begin(key, from))?.socket.send(message)
  })
  return {
    setPlan(next) {
      plan = next
      const serving = new Set([...next.cluster, ...next.local].map(({ text }) => text))
      for (const [key, { endpoint }] of conversations) if (!serving.has(endpoint.text)) end(key)
    },
    async close() {
      for (const key of [...conversations.keys()]) end(key)
      listener.close()
    },
  }
}
