/** A thread that has stayed in the machine's own network: it connects there what pods connect to, and listens there. */
import { systemClock } from '#base/clock.ts'
import { addressesOf } from '#base/name-lookup.ts'
import { boundSocket } from '#base/network-namespaces.ts'
import { acceptRedirected, receiveRedirected } from '#base/redirected-sockets.ts'
import { nodeSockets, type TcpConnection } from '#base/sockets.ts'
import { SystemCallError } from '#base/system-calls.ts'
import { threadSide } from '#base/worker.ts'
import { forwardNames } from '#network/userland/forward-names.ts'
import type { FromUserland, ToUserland } from '#network/userland/userland-messages.ts'

const connectMs = 60_000

const side = threadSide<ToUserland, FromUserland>()
side.onMessage((message) => {
  if (message.kind === 'serve') serve(message)
  else void listen(message)
})

function serve({ tcp, udp, ownAddress, nameServers }: Extract<ToUserland, { kind: 'serve' }>): void {
  acceptRedirected(tcp, async (client, meantFor) => {
    // The only port that is led here of our own address is that of names.
    const host = meantFor.host === ownAddress ? nameServers[0] : meantFor.host
    if (host === undefined) return client.reset()
    try {
      join(client, await nodeSockets.connectTcp({ host, port: meantFor.port }, connectMs))
    } catch {
      // The client has been told that it is connected: a reset is what is left to say.
      client.reset()
    }
  })
  const forward = forwardNames(nameServers, { sockets: nodeSockets, clock: systemClock })
  const names = receiveRedirected(udp, (question, from) => forward(question, (answer) => names.send(answer, from)))
}

function join(one: TcpConnection & { reset(): void }, other: TcpConnection): void {
  one.stream.on('error', () => other.destroy())
  other.stream.on('error', () => one.reset())
  one.stream.on('close', () => other.destroy())
  one.stream.pipe(other.stream)
  other.stream.pipe(one.stream)
}

async function listen({ id, host, port }: Extract<ToUserland, { kind: 'listen' }>): Promise<void> {
  try {
    const [address = host] = await addressesOf(host)
    side.post({ id, descriptor: boundSocket('tcp', { host: address, port }) })
  } catch (error) {
    const { code = '', message } = error as Error & { code?: string }
    side.post({ id, code: error instanceof SystemCallError ? error.code : code, message })
  }
}
