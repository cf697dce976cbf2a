/** `kubectl port-forward`: local ports that lead into a pod, over SPDY streams. */
import type { V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { nodeSockets, type SocketListener, type TcpConnection } from '#base/sockets.ts'
import { nodeUpgradeClient } from '#base/upgrade-client.ts'
import type { Call } from '#cli/call.ts'
import { CliError, usageError } from '#cli/cli-error.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { refusedUpgrade } from '#cli/streams/conversation.ts'
import { podFor } from '#cli/streams/find-pod.ts'
import { type Forward, parsedPort, translatedPorts } from '#cli/streams/forwarded-ports.ts'
import { SpdyConnection } from '#wire/spdy/connection.ts'
import { isIpAddress } from '#wire/x509/ip-address.ts'

export async function portForward(call: Call): Promise<void> {
  const { args, flags, host } = call
  const [what, ...specs] = args
  if (what === undefined || specs.length === 0)
    throw usageError('port-forward', 'TYPE/NAME and list of ports are required for port-forward')
  const pod = await podFor(call, what)
  const service = /^(?:svc|services?)\//.test(what) ? await serviceOf(call, what) : undefined
  const words = translatedPorts(specs, pod, service)
  if (pod.status?.phase !== 'Running')
    throw new CliError(`unable to forward port because pod is not running. Current status=${pod.status?.phase}`)
  const addresses = flags.list('address').length > 0 ? flags.list('address') : ['localhost']
  const wrong = addresses.find((address) => address !== 'localhost' && !isIpAddress(address))
  if (wrong !== undefined) throw new CliError(`${wrong} is not a valid IP`)
  const targets = words.map(parsedPort)
  const connection = await connected(call, pod)
  const listeners: SocketListener[] = []
  for (const target of targets) listeners.push(...(await listen(call, addresses, target, connection)))
  if (listeners.length === 0)
    throw new CliError(
      `unable to listen on any of the requested ports: [{${targets.map(({ local, remote }) => `${local} ${remote}`).join('} {')}}]`,
    )
  await new Promise<void>((resolve, reject) => {
    host.interrupted.addEventListener('abort', () => resolve())
    connection.onClose(() => reject(new CliError('lost connection to pod')))
  })
  for (const listener of listeners) await listener.close()
}

async function serviceOf({ session }: Call, what: string): Promise<V1Service> {
  const rest = await session.rest
  return rest.json<V1Service>({
    path: resourcePath({ group: '', version: 'v1', plural: 'services' }, await session.namespace(), what.split('/')[1] ?? ''),
  })
}

async function connected({ session }: Call, pod: V1Pod): Promise<SpdyConnection> {
  const { server, tls, headers } = await session.upgradeTarget()
  const path = resourcePath(
    { group: '', version: 'v1', plural: 'pods' },
    pod.metadata?.namespace ?? '',
    pod.metadata?.name ?? '',
    'portforward',
  )
  const answer = await nodeUpgradeClient(tls).send({
    url: `${server}${path}`,
    method: 'POST',
    headers: { ...headers, connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'portforward.k8s.io' },
  })
  if (answer.upgraded !== undefined) return new SpdyConnection({ ...answer.upgraded, role: 'client' })
  let body = ''
  for await (const piece of answer.body) body += Buffer.from(piece).toString()
  throw new CliError(`error upgrading connection: ${refusedUpgrade(body).message}`)
}

async function listen(
  { host }: Call,
  addresses: readonly string[],
  { local, remote }: Forward,
  connection: SpdyConnection,
): Promise<SocketListener[]> {
  const listeners: SocketListener[] = []
  let requestId = 0
  let port = local
  for (const address of addresses.flatMap((each) => (each === 'localhost' ? ['127.0.0.1', '::1'] : [each]))) {
    try {
      const listener = await nodeSockets.listenTcp({ host: address, port }, (client) => {
        host.write(`Handling connection for ${port}\n`)
        forward(client, connection, remote, requestId++, (text) => host.complain(text))
      })
      port = listener.port
      host.write(`Forwarding from ${address.includes(':') ? `[${address}]` : address}:${port} -> ${remote}\n`)
      listeners.push(listener)
    } catch (error) {
      const isSecond = address === '::1' && listeners.length > 0
      if (!isSecond)
        host.complain(
          `Unable to listen on port ${port}: Listeners failed to create with the following errors: [unable to create listener: Error listen tcp ${address}:${port}: ${(error as Error).message}]\n`,
        )
    }
  }
  return listeners
}

/** An error stream and a data stream for each connection. */
function forward(
  client: TcpConnection,
  connection: SpdyConnection,
  port: number,
  requestId: number,
  complain: (text: string) => void,
): void {
  const headers = (streamtype: string) => ({ streamtype, port: String(port), requestid: String(requestId) })
  const errors = connection.open(headers('error'))
  errors.end()
  errors.onData = (data) => {
    complain(`error forwarding port ${port} to pod: ${Buffer.from(data).toString()}\n`)
    client.destroy()
  }
  const data = connection.open(headers('data'))
  data.onData = (piece) => void client.stream.write(piece)
  data.onEnd = () => void client.stream.end()
  client.stream.on('data', (piece: Buffer) => {
    if (data.write(piece)) return
    client.stream.pause()
    data.onceDrained(() => client.stream.resume())
  })
  client.stream.on('end', () => data.end())
  client.stream.on('error', () => data.reset())
}
